"""Where clients are: the addresses of their sockets."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

NETWORK = 64  # bits of an address of IPv6 that its provider has given; the rest is free


def place(peer: Any) -> tuple[str, str, str]:
    """What is known of a socket's other end.

    Args:
        peer: as ``getpeername`` gives it; None if it is gone already.

    Returns:
        its IP address; what it is counted under, which is the network of an address of
        IPv6; and host and port for people.
    """
    if not peer:
        return "", "", ""
    ip, port = str(peer[0]), peer[1]
    host = counted(ip)
    return ip, host, f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def counted(ip: str) -> str:
    address = ip_address(ip)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), NETWORK), strict=False))
    return ip


def is_here(ip: str) -> bool:
    """Whether that is this machine, so that nobody between can listen."""
    if not ip:
        return False
    address = ip_address(ip)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
