/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/grants.h"

#include <stddef.h>
#include <string.h>

#include "base/macro.h"
#include "base/path.h"
#include "policy/match.h"

#define ANY UINT32_MAX

#define MEMORY   "it is the memory of the machine"
#define TERMINAL "it is a terminal of the host; programs have terminals of their own"
#define INPUT    "it reads or makes input for the whole machine"
#define NETWORK  "it is a way around the network of the sandbox"
#define DISK     "it is a way to whole disks"
#define HARDWARE "it commands hardware past the kernel's drivers"
#define RUNTIME  "it starts containers, and through them anything on the host"
#define BUS      "services behind it act for the caller, outside the sandbox"
#define SCREEN   "it is the caller's screen and keyboard"
#define AGENT    "it signs and decrypts with the caller's keys"

/* By number, because a name is anybody's choice: Documentation/admin-guide/devices.txt of the
 * kernel. What has no fixed number stands among the names. */
static const struct {
	uint32_t major, first, last; /* minors, inclusive */
	const char *why;
} device_numbers[] = {
	{ 1, 1, 2, MEMORY },                          /* mem, kmem */
	{ 1, 4, 4, HARDWARE },                        /* port */
	{ 1, 6, 6, MEMORY },                          /* core */
	{ 1, 11, 11, "it is the log of the kernel" }, /* kmsg */
	{ 1, 12, 12, MEMORY },                        /* oldmem */
	{ 4, 0, ANY, TERMINAL },                      /* consoles and serial lines */
	{ 5, 1, ANY, TERMINAL },    /* console, ptmx, callout lines; 0 is tty, which is harmless */
	{ 7, 0, ANY, TERMINAL },    /* contents of consoles */
	{ 10, 130, 130, HARDWARE }, /* watchdog */
	{ 10, 137, 137, HARDWARE }, /* vhci */
	{ 10, 144, 144, HARDWARE }, /* nvram */
	{ 10, 196, 196, HARDWARE }, /* vfio */
	{ 10, 200, 200, NETWORK },  /* tun */
	{ 10, 203, 203, HARDWARE }, /* cuse */
	{ 10, 223, 223, INPUT },    /* uinput */
	{ 10, 231, 231, MEMORY },   /* snapshot */
	{ 10, 234, 234, DISK },     /* btrfs-control */
	{ 10, 235, 235, DISK },     /* autofs */
	{ 10, 236, 237, DISK },     /* device mapper, loop-control */
	{ 10, 238, 238, NETWORK },  /* vhost-net */
	{ 10, 239, 239, INPUT },    /* uhid */
	{ 10, 241, 241, NETWORK },  /* vhost-vsock */
	{ 10, 242, 242, HARDWARE }, /* rfkill */
	{ 13, 0, ANY, INPUT },
	{ 21, 0, ANY, DISK },     /* generic SCSI */
	{ 89, 0, ANY, HARDWARE }, /* i2c */
	{ 108, 0, ANY, NETWORK }, /* ppp */
	{ 136, 0, ANY, TERMINAL },
	{ 137, 0, ANY, TERMINAL },
	{ 138, 0, ANY, TERMINAL },
	{ 139, 0, ANY, TERMINAL },
	{ 140, 0, ANY, TERMINAL },
	{ 141, 0, ANY, TERMINAL },
	{ 142, 0, ANY, TERMINAL },
	{ 143, 0, ANY, TERMINAL }, /* pts */
	{ 162, 0, ANY, DISK },     /* raw */
	{ 202, 0, ANY, HARDWARE }, /* cpu/N/msr */
};

#define FUSE_MAJOR 10
#define FUSE_MINOR 229

/* Last parts of a path, and directories. */
static const struct {
	const char *pattern; /* '*' stands for slashes as well */
	const char *why;
} device_names[] = {
	{ "/dev/mem", MEMORY },
	{ "/dev/kmem", MEMORY },
	{ "/dev/port", HARDWARE },
	{ "/dev/kmsg", "it is the log of the kernel" },
	{ "/dev/net/*", NETWORK },
	{ "/dev/vsock", NETWORK },
	{ "/dev/vhost-*", NETWORK },
	{ "/dev/loop*", DISK },
	{ "/dev/mapper/*", DISK },
	{ "/dev/btrfs-control", DISK },
	{ "/dev/bsg/*", DISK },
	{ "/dev/sg*", DISK },
	{ "/dev/nvme*", DISK },
	{ "/dev/input/*", INPUT },
	{ "/dev/uinput", INPUT },
	{ "/dev/uhid", INPUT },
	{ "/dev/hidraw*", INPUT },
	{ "/dev/vfio/*", HARDWARE },
	{ "/dev/iommu", HARDWARE },
	{ "/dev/cpu/*", HARDWARE },
	{ "/dev/bus/usb/*", HARDWARE },
	{ "/dev/gpiochip*", HARDWARE },
	{ "/dev/mei*", HARDWARE },
	{ "/dev/watchdog*", HARDWARE },
	{ "/dev/console", TERMINAL },
	{ "/dev/ptmx", TERMINAL },
	{ "/dev/pts/*", TERMINAL },
	{ "/dev/vcs*", TERMINAL },
	{ "/dev/userfaultfd", "it stops the kernel in the middle of its work" },
};

/* On the path as the profile has it, and on the one that it leads to. */
static const struct {
	const char *pattern;
	const char *why;
} socket_names[] = {
	{ "*/docker.sock", RUNTIME },
	{ "*/docker.*.sock", RUNTIME },
	{ "*/docker-*.sock", RUNTIME },
	{ "*/containerd*.sock*", RUNTIME },
	{ "*/containerd/*", RUNTIME },
	{ "*/podman/*", RUNTIME },
	{ "*/podman.sock", RUNTIME },
	{ "*/crio*.sock", RUNTIME },
	{ "*/crio/*", RUNTIME },
	{ "*/cri-dockerd.sock", RUNTIME },
	{ "*/buildkit*.sock", RUNTIME },
	{ "*/nerdctl*", RUNTIME },
	{ "*/lxd/*", RUNTIME },
	{ "*/incus/*", RUNTIME },
	{ "*/libvirt*", RUNTIME },
	{ "*/snapd*.socket", RUNTIME },
	{ "*/kubelet*", RUNTIME },
	{ "*/machined/*", RUNTIME },
	{ "/run/dbus/*", BUS },
	{ "/var/run/dbus/*", BUS },
	{ "*/system_bus_socket", BUS },
	{ "/run/user/*/bus", BUS },
	{ "/run/systemd/*", BUS },
	{ "/run/user/*/systemd/*", BUS },
	{ "*/dbus-*", BUS },
	{ "*/.X11-unix/*", SCREEN },
	{ "*/wayland-*", SCREEN },
	{ "*/.ICE-unix/*", SCREEN },
	{ "*/ssh-*/agent.*", AGENT },
	{ "*/ssh-agent*", AGENT },
	{ "*/.ssh/*", AGENT },
	{ "*/S.gpg-agent*", AGENT },
	{ "*/S.keyboxd", AGENT },
	{ "*/S.scdaemon", AGENT },
	{ "*/gnupg/*", AGENT },
	{ "*/.gnupg/*", AGENT },
	{ "*/keyring/*", AGENT },
	{ "*/gcr/*", AGENT },
	{ "*/.1password/*", AGENT },
	{ "*/pcscd.comm", AGENT },
};

/* A second name of one of these, a hard link or a bind, is still this one. */
static const struct {
	const char *path;
	const char *why;
} socket_places[] = {
	{ "/run/docker.sock", RUNTIME },
	{ "/run/containerd/containerd.sock", RUNTIME },
	{ "/run/podman/podman.sock", RUNTIME },
	{ "/run/crio/crio.sock", RUNTIME },
	{ "/run/buildkit/buildkitd.sock", RUNTIME },
	{ "/run/snapd.socket", RUNTIME },
	{ "/run/libvirt/libvirt-sock", RUNTIME },
	{ "/run/dbus/system_bus_socket", BUS },
	{ "/run/systemd/private", BUS },
	{ "/tmp/.X11-unix/X0", SCREEN },
	{ "/tmp/.X11-unix/X1", SCREEN },
};

const char *grants_device_refusal(const char *path, bool rdev_known, uint32_t major, uint32_t minor,
				  bool nested)
{
	for (size_t i = 0; i < ARRAY_SIZE(device_names); i++) {
		if (match_wildcards(device_names[i].pattern, path))
			return device_names[i].why;
	}
	if (!rdev_known)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(device_numbers); i++) {
		if (device_numbers[i].major == major && device_numbers[i].first <= minor &&
		    minor <= device_numbers[i].last)
			return device_numbers[i].why;
	}
	if (major == FUSE_MAJOR && minor == FUSE_MINOR && !nested)
		return "it is of use only with 'nested_sandboxes: true'";
	return NULL;
}

const char *grants_socket_refusal(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(socket_names); i++) {
		if (match_wildcards(socket_names[i].pattern, path))
			return socket_names[i].why;
	}
	return NULL;
}

const char *grants_socket_place(unsigned i, const char **why)
{
	if (i >= ARRAY_SIZE(socket_places))
		return NULL;
	*why = socket_places[i].why;
	return socket_places[i].path;
}
