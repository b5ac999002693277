#include <stdio.h>
#include <string.h>
#include "account.h"

#define LIMIT 3

static int tries;

static int same(const char *one, const char *other)
{
    return strcmp(one, other) == 0;
}

int account_login(const struct account *it, const char *word)
{
    return tries++ < LIMIT && same(it->word, word);
}
