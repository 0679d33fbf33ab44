package kafka

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
)

// containerHost answers the tasks of ECS, by paths relative to it.
const containerHost = "http://169.254.170.2"

// AWS is where the credentials of an AWS_MSK_IAM login come from. They are
// looked up at each authentication, so that rotated ones are found:
//
//  1. the named profile of the shared credentials file, if one is named;
//  2. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN;
//  3. AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI, which ECS and EKS Pod
//     Identity set;
//  4. the profile AWS_PROFILE, or "default", of the shared credentials file.
//
// Roles, web identities and the metadata service of EC2 are not looked up. The
// region is in the broker's name, else in AWS_REGION or AWS_DEFAULT_REGION.
type AWS struct {
	Profile string
}

func (a *AWS) mechanism() sasl.Mechanism {
	return aws.ManagedStreamingIAM(func(ctx context.Context) (aws.Auth, error) {
		auth, err := a.lookup(ctx)
		if err != nil {
			return aws.Auth{}, fmt.Errorf("find AWS credentials: %w", err)
		}
		auth.UserAgent = defaultClientID
		return auth, nil
	})
}

func (a *AWS) lookup(ctx context.Context) (aws.Auth, error) {
	if a.Profile != "" {
		return sharedProfile(a.Profile)
	}
	auth := aws.Auth{AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN")}
	if auth.AccessKey != "" && auth.SecretKey != "" {
		return auth, nil
	}
	address := os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if path := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		address = containerHost + path
	}
	if address != "" {
		return containerCredentials(ctx, address)
	}
	profile := os.Getenv("AWS_PROFILE")
	if profile == "" {
		profile = "default"
	}
	auth, err := sharedProfile(profile)
	if err != nil {
		return aws.Auth{}, fmt.Errorf("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and %w", err)
	}
	return auth, nil
}

// sharedProfile reads one profile of the shared credentials file.
func sharedProfile(name string) (aws.Auth, error) {
	path := os.Getenv("AWS_SHARED_CREDENTIALS_FILE")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return aws.Auth{}, fmt.Errorf("no shared credentials file: %w", err)
		}
		path = filepath.Join(home, ".aws", "credentials")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return aws.Auth{}, fmt.Errorf("read shared credentials file: %w", err)
	}
	var auth aws.Auth
	section := ""
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if inner, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSpace(strings.TrimSuffix(inner, "]"))
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		if section != name {
			continue
		}
		switch strings.TrimSpace(key) {
		case "aws_access_key_id":
			auth.AccessKey = value
		case "aws_secret_access_key":
			auth.SecretKey = value
		case "aws_session_token":
			auth.SessionToken = value
		}
	}
	if auth.AccessKey == "" || auth.SecretKey == "" {
		return aws.Auth{}, fmt.Errorf("%s has no profile %q with aws_access_key_id and aws_secret_access_key", path, name)
	}
	return auth, nil
}

// containerCredentials asks the agent of the container's platform.
func containerCredentials(ctx context.Context, address string) (aws.Auth, error) {
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return aws.Auth{}, fmt.Errorf("container credentials: %w", err)
	}
	token := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return aws.Auth{}, fmt.Errorf("container credentials: %w", err)
		}
		token = strings.TrimSpace(string(data))
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	cl := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := cl.Do(req)
	if err != nil {
		return aws.Auth{}, fmt.Errorf("container credentials: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return aws.Auth{}, errors.New("container credentials: " + resp.Status)
	}
	var got struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return aws.Auth{}, fmt.Errorf("container credentials: %w", err)
	}
	if got.AccessKeyID == "" || got.SecretAccessKey == "" {
		return aws.Auth{}, errors.New("container credentials: the answer holds no key")
	}
	return aws.Auth{AccessKey: got.AccessKeyID, SecretKey: got.SecretAccessKey, SessionToken: got.Token}, nil
}
