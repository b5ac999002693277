<?php

declare(strict_types=1);

namespace House\Rooms;

use House\Clock;
use function strlen;

const LIMIT = 3;

interface Measured
{
    public function area(): int;
}

trait Named
{
    private string $name = 'room';

    public function name(): string
    {
        return $this->name;
    }

    public static function make(): static
    {
        return new static();
    }
}

#[\Attribute]
abstract class Shape implements Measured
{
    use Named;

    public const MOST = 9;
    protected static int $made = 0;

    public function __construct(private readonly int $first, protected ?Clock $clock = null)
    {
        self::$made++;
    }

    public function __destruct() {}

    #[Pure]
    public function area(int ...$sides): int
    {
        return array_sum($sides);
    }

    abstract protected function edges(): int;

    final public static function of(int $first): self { return new Round($first); }

    public function &reference(): int { return $this->first; }
}

final class Round extends Shape
{
    public function __construct(int $radius)
    {
        parent::__construct($radius);
    }

    protected function edges(): int { return 0; }
}

enum Side: string
{
    case Left = 'l';

    public static function first(): self
    {
        return self::Left;
    }
}

function area(int $side): int
{
    $text = <<<TEXT
      as it
    is
    TEXT;
    return $side * strlen($text);
}

if (!function_exists('House\Rooms\maybe')) {
    function maybe() { return 1; }
}
