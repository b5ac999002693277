package house;

import java.security.MessageDigest;
import java.util.Map;

public class Account {
    private static final int LIMIT = 3;
    private final String word;
    private int tries = 0;

    @Deprecated
    public boolean login(String given) {
        if (tries++ >= LIMIT) {
            return false;
        }
        return MessageDigest.isEqual(bytes(word), bytes(given));
    }

    private static byte[] bytes(String text) {
        return text.getBytes();
    }

    public void rename(String first, String second) {
        this.tries = 0;
    }
}
