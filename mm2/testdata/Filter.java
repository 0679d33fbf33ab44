import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.connect.mirror.DefaultTopicFilter;

/**
 * Says what MirrorMaker 2's topic filter makes of values of topics, with nothing excluded. The first argument is names, in
 * hexadecimal digits and separated by commas; each other one is a value, "x" and hexadecimal digits. A line of the answer is
 * the names that the filter takes, separated by blanks, or ! and the class of the exception.
 */
public class Filter {
    public static void main(String[] args) {
        for (int i = 1; i < args.length; i++) {
            var taken = new ArrayList<String>();
            try (var filter = new DefaultTopicFilter()) {
                filter.configure(new HashMap<>(Map.of("topics", text(args[i].substring(1)), "topics.exclude", "")));
                for (String name : args[0].split(","))
                    if (filter.shouldReplicateTopic(text(name)))
                        taken.add(text(name));
                System.out.println(String.join(" ", taken));
            } catch (RuntimeException e) {
                System.out.println("!" + e.getClass().getSimpleName());
            }
        }
    }

    static String text(String hex) {
        return new String(HexFormat.of().parseHex(hex));
    }
}
