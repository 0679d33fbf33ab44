import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Says what java.util.regex makes of patterns. A line of standard input is a pattern and then names, each as "x" and the
 * hexadecimal digits of its UTF-8. The answer is a line of one character for each name, 1 where the pattern matches the
 * whole of it and 0 where not, or ! and a reason where Java refuses the pattern.
 */
public class Match {
    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        var out = new StringBuilder();
        for (String line; (line = in.readLine()) != null; ) {
            out.append(answer(line.split(" "))).append('\n');
        }
        System.out.print(out);
    }

    static String answer(String[] words) {
        var matches = new StringBuilder();
        try {
            var pattern = Pattern.compile(text(words[0]));
            for (int i = 1; i < words.length; i++)
                matches.append(pattern.matcher(text(words[i])).matches() ? '1' : '0');
        } catch (PatternSyntaxException e) {
            return "!" + e.getDescription().replace('\n', ' ');
        } catch (RuntimeException | StackOverflowError e) { // some intersections of classes
            return "!" + e.getClass();
        }
        return matches.toString();
    }

    static String text(String word) {
        return new String(HexFormat.of().parseHex(word, 1, word.length()), StandardCharsets.UTF_8);
    }
}
