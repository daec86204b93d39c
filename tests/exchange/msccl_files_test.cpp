#include <gtest/gtest.h>
int main2() { return 0; }
