/* What the parts of the library share: the messages to the simulator, and the session with it. */
#ifndef ISAKIT_SHIM_H
#define ISAKIT_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- messages; protocol.py declares the same numbers ------------------------------------------------------------ */
#define PROTOCOL_VERSION 3u
enum { OP_HELLO = 1, OP_IOCTL = 2, OP_PUSHBUF = 3, OP_PICTURE = 4, OP_MAPPING = 5 };

struct request {
    uint32_t op, command; /* command: the ioctl's request number */
    uint64_t length;      /* bytes that follow */
};

struct reply {
    int32_t status; /* 0 or more, or a negated errno */
    uint32_t length;
};

struct hello {
    uint32_t version, process;
};

struct welcome {
    uint32_t version, pci_device; /* the chip's PCI device number, for sysfs */
    uint64_t memory_bytes;
};

struct mapping {
    uint64_t mapped; /* 0: no longer */
    uint64_t address, offset, length;
};

/* --- the session of this process -------------------------------------------------------------------------------- */
struct piece {
    const void *bytes;
    size_t length;
};

int session_open(void);              /* 0, or a negated errno; connects at the first call of a process */
int session_node(void);              /* a new descriptor that stands for the render node */
void session_forked(void);           /* in a child: whoever held a lock is not there */
int session_owns(int fd);            /* whether a descriptor is one of those */
unsigned session_pci_device(void);
int session_mapped(int is, const void *address, uint64_t offset, size_t length);
int session_call(uint32_t op, uint32_t command, const struct piece *pieces, int count, void *back, size_t room);

int window_export(uint32_t handle);           /* a descriptor that stands for a memory object */
int window_import(int fd, uint32_t *handle);  /* and back; a negated errno for another one */

int node_ioctl(unsigned long request, void *argument);

#endif
