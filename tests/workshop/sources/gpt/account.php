<?php

namespace House;

use Psr\Log\LoggerInterface;
use House\Clock as Time;

const LIMIT = 3;

class Account
{
    private int $tries = 0;

    #[Pure]
    public function login(string $given): bool
    {
        if ($this->tries++ >= LIMIT) {
            return false;
        }
        return $this->same($given) && Time::now() > 0;
    }

    private function same(string $given): bool
    {
        return hash_equals($this->word, $given);
    }
}
