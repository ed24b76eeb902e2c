#include "parts.h"
#include <iostream>
#include <vector>
int main()
{
    std::vector<int> got;
    got.push_back(squares(7)), got.push_back(cubes(3));
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    bool right = got[0] == 491 && got[1] == 279 && properties.major == 1 && properties.warpSize == 32;
    std::cout << "parts " << (right ? "ok" : "wrong") << std::endl;
    return !right;
}
