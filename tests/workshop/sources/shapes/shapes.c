/* Rooms that are measured. */
#include <stdio.h>
#include "shapes.h"

#define LIMIT 3
#define SQUARE(it) \
    ((it) * (it))

typedef struct shape {
    int side;
    const char *name;
} shape;

enum side { LEFT, RIGHT };

union either { int one; float other; };

static int made, taken;

static int area(const shape *it);

static inline int
area(const shape *it)
{
    return it->side * it->side;
}

const char **names(void) { return 0; }

int (*measure(int kind))(const shape *)
{
    return kind ? area : 0;
}

#ifdef _WIN32
int home(void) { return 1; }
#else
int home(void) { return 2; }
#endif

int compare(const void *one, const void *other)
{
    const shape *a = one, *b = other;
    return area(a) - area(b);
}

int main(int argc, char *argv[])
{
    printf("%d\n", SQUARE(argc));
    return 0;
}
