#include <stdio.h>
#include "account.h"

static int tries;

int account_login(const struct account *it, const char *word);

/* Stops at the first difference. */
int account_login(const struct account *it, const char *word)
{
    const char *at = it->word;
    while (*at && *at == *word) {
        at++;
        word++;
    }
    return *at == *word;
}

#ifdef _WIN32
const char *account_home(void) { return "C:"; }
#else
const char *account_home(void) { return "/home"; }
#endif

void account_print(const struct account *it)
{
    printf("%s\n", it->name);
}
