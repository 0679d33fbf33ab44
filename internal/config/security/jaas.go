package security

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/kafka"
)

// Login is what a sasl.jaas.config says. Its options hold the password: it is never printed.
type Login struct {
	module  string // the class name's last part
	Options map[string]kafka.Secret
}

// ParseJAAS reads "class.name required user="x" password="y";" as Kafka's JaasConfig does: words are separated by
// blanks, texts may stand in double quotes with backslash escapes, and a semicolon ends the entry. Its errors hold
// nothing of the text.
func ParseJAAS(text string) (Login, error) {
	words, err := jaasWords(text)
	if err != nil {
		return Login{}, err
	}
	if len(words) < 3 || words[len(words)-1] != ";" {
		return Login{}, errors.New("the text does not end in a semicolon")
	}
	out := Login{module: words[0][strings.LastIndex(words[0], ".")+1:], Options: map[string]kafka.Secret{}}
	switch strings.ToLower(words[1]) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return Login{}, errors.New(`the second word is not "required"`)
	}
	rest := words[2 : len(words)-1]
	for len(rest) > 0 {
		if len(rest) < 3 || rest[1] != "=" || rest[0] == "=" {
			return Login{}, errors.New("an option is not of the form name=\"value\"")
		}
		out.Options[rest[0]] = kafka.Secret(rest[2])
		rest = rest[3:]
	}
	return out, nil
}

// jaasWords cuts the text into words, quoted texts (without their quotes), "=" and ";".
func jaasWords(text string) ([]string, error) {
	var words []string
	for i := 0; i < len(text); {
		switch ch := text[i]; {
		case strings.IndexByte(" \t\r\n", ch) >= 0:
			i++
		case ch == '=' || ch == ';':
			words = append(words, string(ch))
			i++
		case ch == '"' || ch == '\'':
			word, n, ok := quoted(text[i:])
			if !ok {
				return nil, errors.New("a quoted text does not end")
			}
			words = append(words, word)
			i += n
		default:
			n := strings.IndexAny(text[i:], " \t\r\n=;\"'")
			if n < 0 {
				n = len(text) - i
			}
			words = append(words, text[i:i+n])
			i += n
		}
	}
	return words, nil
}

// quoted reads a text in quotes and says how long it is with them.
func quoted(text string) (word string, n int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == text[0]:
			return b.String(), i + 1, true
		case ch == '\\' && i+1 < len(text):
			i++
			b.WriteByte(unescape(text[i]))
		default:
			b.WriteByte(ch)
		}
	}
	return "", 0, false
}

// unescape is the character after a backslash, as Java's StreamTokenizer reads it.
func unescape(ch byte) byte {
	if i := strings.IndexByte("nrtbf", ch); i >= 0 {
		return "\n\r\t\b\f"[i]
	}
	return ch
}

// modules are the login modules of a mechanism, by the last part of their class.
func modules(mechanism string) []string {
	switch mechanism {
	case MechanismPlain:
		return []string{"PlainLoginModule"}
	case MechanismOAuth:
		return []string{"OAuthBearerLoginModule"}
	case MechanismAWS:
		return []string{"IAMLoginModule"}
	case MechanismKerberos:
		return []string{"Krb5LoginModule"}
	}
	return []string{"ScramLoginModule"}
}

// Suits says whether the login module can serve the mechanism.
func (l Login) Suits(mechanism string) error {
	want := modules(mechanism)
	if !slices.Contains(want, l.module) {
		return fmt.Errorf("mechanism %s needs login module %s, and another one is named", mechanism, strings.Join(want, " or "))
	}
	return nil
}

// Basic takes user and password of PLAIN and SCRAM.
func (l Login) Basic(s *SASL) error {
	if l.Options["username"] == "" || l.Options["password"] == "" {
		return errors.New("username or password is missing")
	}
	s.User, s.Password = l.Options["username"].Reveal(), l.Options["password"]
	return nil
}

// AWS takes the profile and the role. Keys in the login itself are not read.
func (l Login) AWS(s *SASL) error {
	for _, name := range []string{"awsRoleAccessKeyId", "awsRoleSecretAccessKey", "awsRoleSessionToken"} {
		if l.Options[name] != "" {
			return fmt.Errorf("%s: keys are not read from the login; let the environment or a profile hold them", name)
		}
	}
	s.AWSProfile = l.Options["awsProfileName"].Reveal()
	s.AWSRole, s.AWSRoleSession = l.Options["awsRoleArn"].Reveal(), l.Options["awsRoleSessionName"].Reveal()
	s.AWSExternalID, s.AWSSTSRegion = l.Options["awsRoleExternalId"].Reveal(), l.Options["awsStsRegion"].Reveal()
	return nil
}
