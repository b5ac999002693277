using System;
using System.Collections.Generic;

namespace House;

public partial class Shape<T> where T : class
{
    private readonly T first;
    public event Action? Changed;

    public Shape(T first) => this.first = first;

    public Shape() : this(default!) { }

    ~Shape() { Changed = null; }

    public int Sides { get; private set; } = 4;

    public string Name
    {
        get => "shape";
        set { Changed?.Invoke(); }
    }

    public int this[int at] => at + 1;

    public static Shape<T> operator +(Shape<T> one, Shape<T> other) => one;

    public static bool operator ==(Shape<T> one, Shape<T> other) { return ReferenceEquals(one, other); }

    public static bool operator !=(Shape<T> one, Shape<T> other) { return !(one == other); }

    public static implicit operator int(Shape<T> one) => one.Sides;
}

public partial class Shape<T>
{
    [Obsolete("soon")]
    public async Task<int> MeasureAsync(IEnumerable<KeyValuePair<string, int>> by, int most = 3)
    {
        int Twice(int it) => it * 2;
        await Task.Delay(1);
        return Twice(most);
    }

    public int Area(int side) => side * side;

    public int Area(int width, int height)
    {
        return width * height;
    }

    int IComparable<int>.CompareTo(int other) => 0;
}

public record Point(int X, int Y)
{
    public Point() : this(0, 0) { }

    public static Point Origin() => new(0, 0);
}

public struct Line
{
    public Line(int length) { Length = length; }

    public int Length { get; }
}

public interface IMeasured
{
    int Size();

    int Twice() => Size() * 2;
}
