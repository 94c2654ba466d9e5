"""IP addresses of clients."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

NETWORK = 64  # prefix length of an IPv6 network; the client chooses the other bits


def place(peer: Any) -> tuple[str, str, str]:
    """IP address, key for counting, and text for people, of a socket's peer.

    Args:
        peer: the result of ``getpeername``; None if the peer has disconnected.

    Returns:
        the IP address; the key it is counted under, which for IPv6 is the network; and
        host and port as text.
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
    """Whether an IP address is this machine's, so that no network is in between."""
    if not ip:
        return False
    address = ip_address(ip)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
