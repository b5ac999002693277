package house;

import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Rooms that are measured. */
public abstract class Shapes<T extends Comparable<T>> implements Iterable<T> {
    private static final int SIDES = 4;
    private final T first;

    public Shapes(T first) {
        this.first = first;
    }

    protected Shapes() {
        this(null);
    }

    @Deprecated
    @SuppressWarnings({"unchecked", "rawtypes"})
    public <R> List<R> mapped(final Function<? super T, ? extends R> how, Map<String, List<Integer>> sizes) {
        Function<T, R> one = new Function<T, R>() {
            public R apply(T it) { return how.apply(it); }
        };
        return List.of(one.apply(first));
    }

    public int area(int side) { return side * side; }

    public int area(int width, int height) { return area(width) * height; }

    abstract int edges();

    public static class Round extends Shapes<Integer> {
        Round() { super(1); }

        int edges() { return 0; }

        class Shapes {
            Shapes() { }

            int area() { return 0; }
        }
    }

    public record Point(int x, int y) {
        public Point {
            if (x < 0) throw new IllegalArgumentException();
        }

        static Point origin() { return new Point(0, 0); }
    }

    enum Side {
        LEFT { int turn() { return -1; } }, RIGHT;

        Side() { }

        int turn() { return 1; }
    }

    interface Measured {
        int MOST = 9;

        default int size() { return MOST; }

        static int none() { return 0; }
    }
}
