package house;

import java.util.List;

/** One person. */
public class Account {
    private final String word;
    private int tries = 0;

    public Account(String word) {
        this.word = word;
    }

    /** Compares in plain text. */
    public boolean login(String given) {
        return word.equals(given);
    }

    public void rename(String name) {
    }

    public void rename(String first, String last) {
    }

    public List<String> names() {
        return List.of();
    }
}
