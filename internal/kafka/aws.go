package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
)

const (
	// awsTimeout bounds one look for credentials, as of a token.
	awsTimeout = 10 * time.Second

	// awsMargin is how long before their end credentials are looked up again.
	// Those of a role last for 15 minutes at least.
	awsMargin = 5 * time.Minute
)

// AWS is where the credentials of an AWS_MSK_IAM login come from: AWS's own
// library looks where all its tools do, in this order.
//
//  1. the named profile, if one is named;
//  2. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN;
//  3. a web identity, AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (IRSA);
//  4. the profile AWS_PROFILE, or "default", of the shared configuration and
//     credentials files, whatever it says: keys, a role, SSO, a process;
//  5. the container's agent (ECS, EKS Pod Identity);
//  6. the metadata service of EC2.
//
// They are looked up at each login, so that rotated ones are found; those that
// end by themselves are kept until five minutes before. It is used by pointer
// and safe for concurrent use; the fields are not changed after the first use.
type AWS struct {
	Profile string
	// RoleARN is a role to assume with what was found; empty for none.
	RoleARN     string
	RoleSession string // what the role's session is called; may be empty
	ExternalID  string // what the role's owner asks for; may be empty
	STSRegion   string // where roles are assumed; empty: AWS_REGION or the profile's, else the region in the broker's name

	mu   sync.Mutex // held while credentials are looked up: others would find the same
	kept sdk.Credentials
}

// Same says whether a finds the credentials that other finds.
func (a *AWS) Same(other *AWS) bool {
	return other != nil && a.Profile == other.Profile && a.RoleARN == other.RoleARN && a.RoleSession == other.RoleSession &&
		a.ExternalID == other.ExternalID && a.STSRegion == other.STSRegion
}

// Format shows whose credentials they are and nothing else: fmt would print
// those that are kept.
func (a *AWS) Format(f fmt.State, _ rune) {
	// fmt.State has nowhere to report an error to.
	_, _ = io.WriteString(f, "aws "+a.Profile+" "+a.RoleARN)
}

func (a *AWS) mechanism() sasl.Mechanism { return mskIAM{a} }

// mskIAM is the mechanism of franz-go, with the broker's region for the look-up.
type mskIAM struct{ a *AWS }

func (mskIAM) Name() string { return "AWS_MSK_IAM" }

// Authenticate is sasl.Mechanism's.
func (m mskIAM) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	return aws.ManagedStreamingIAM(func(ctx context.Context) (aws.Auth, error) {
		got, err := m.a.current(ctx, regionOf(host))
		if err != nil {
			return aws.Auth{}, fmt.Errorf("find AWS credentials: %w", err)
		}
		return aws.Auth{AccessKey: got.AccessKeyID, SecretKey: got.SecretAccessKey, SessionToken: got.SessionToken, UserAgent: defaultClientID}, nil
	}).Authenticate(ctx, host)
}

// current are credentials that are good for a while.
func (a *AWS) current(ctx context.Context, region string) (sdk.Credentials, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept.HasKeys() && time.Until(a.kept.Expires) > awsMargin {
		return a.kept, nil
	}
	got, err := a.lookup(ctx, region)
	if err != nil {
		return sdk.Credentials{}, err
	}
	a.kept = sdk.Credentials{}
	if got.CanExpire {
		a.kept = got
	}
	return got, nil
}

func (a *AWS) lookup(ctx context.Context, region string) (sdk.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, awsTimeout)
	defer cancel()
	opts := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}), // it would write to the process's error stream
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.DisableKeepAlives = true })),
	}
	if region != "" {
		opts = append(opts, config.WithDefaultRegion(region))
	}
	if a.Profile != "" {
		opts = append(opts, config.WithSharedConfigProfile(a.Profile))
	}
	conf, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return sdk.Credentials{}, err
	}
	provider := conf.Credentials
	if a.RoleARN != "" {
		client := sts.NewFromConfig(conf, func(o *sts.Options) {
			if a.STSRegion != "" {
				o.Region = a.STSRegion
			}
		})
		provider = stscreds.NewAssumeRoleProvider(client, a.RoleARN, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = a.RoleSession
			if a.ExternalID != "" {
				o.ExternalID = &a.ExternalID
			}
		})
	}
	got, err := provider.Retrieve(ctx)
	if err == nil && !got.HasKeys() {
		err = errors.New("what was found holds no key")
	}
	// The container's agent says little more than that.
	if answer, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		err = fmt.Errorf("%w (HTTP %d)", err, answer.HTTPStatusCode())
	}
	return got, err
}

// regionOf is the region in the name of a broker of MSK; empty where there is
// none.
func regionOf(host string) string {
	labels := strings.Split(host, ".")
	for i, l := range labels[:len(labels)-1] {
		if l == "kafka" || l == "kafka-serverless" {
			return labels[i+1]
		}
	}
	return ""
}
