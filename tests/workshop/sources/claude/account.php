<?php

declare(strict_types=1);

namespace House;

use JsonException;

/** One person. */
class Account
{
    private int $tries = 0;

    public function __construct(private string $word)
    {
    }

    /** Compares in plain text. */
    public function login(string $given): bool
    {
        return $this->word === $given;
    }
}

function load(string $path): array
{
    return json_decode(file_get_contents($path), true);
}
