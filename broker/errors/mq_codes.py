"""The numbers of IBM MQ: reasons, report options, get options, types.

Source:
    IBM MQ's ``cmqc.h``, as published in its documentation, "Constants".
"""

from __future__ import annotations

from enum import IntEnum, IntFlag, StrEnum


class Completion(IntEnum):
    """The completion code of a call (MQCC_*)."""

    OK = 0
    WARNING = 1
    FAILED = 2


class Reason(IntEnum):
    """The reason for the completion code of a call (MQRC_*). Calls never return the
    last three; they are reasons of dead letters."""

    NONE = 0
    BACKED_OUT = 2003
    CONNECTION_BROKEN = 2009
    EXPIRY_ERROR = 2013
    GET_INHIBITED = 2016
    SYNCPOINT_LIMIT_REACHED = 2024
    MISSING_REPLY_TO_Q = 2027
    MSG_TOO_BIG_FOR_Q = 2030
    MSG_TOO_BIG_FOR_Q_MGR = 2031
    NO_MSG_AVAILABLE = 2033
    NO_MSG_UNDER_CURSOR = 2034
    NOT_AUTHORIZED = 2035
    OPTIONS_ERROR = 2046
    PERSISTENCE_ERROR = 2047
    PUT_INHIBITED = 2051
    Q_FULL = 2053
    Q_NOT_EMPTY = 2055
    REPORT_OPTIONS_ERROR = 2061
    SECOND_MARK_NOT_ALLOWED = 2062
    UNKNOWN_OBJECT_NAME = 2085
    UNKNOWN_REMOTE_Q_MGR = 2087
    UNKNOWN_REPORT_OPTION = 2104
    DLH_ERROR = 2141
    UNEXPECTED_ERROR = 2195
    OPTION_ENVIRONMENT_ERROR = 2274
    RFH_ERROR = 2334
    RFH_FORMAT_ERROR = 2421
    NO_SUBSCRIPTION = 2428
    SUBSCRIPTION_IN_USE = 2429
    SELECTOR_SYNTAX_ERROR = 2459
    INVALID_DESTINATION = 2522
    BACKOUT_THRESHOLD_REACHED = 2362
    MSG_NOT_MATCHED = 2363
    JMS_FORMAT_ERROR = 2364


class Report(IntFlag):
    """The reports that a message requests, and options for its disposition (MQRO_*)."""

    NONE = 0  # also the value of NEW_MSG_ID, COPY_MSG_ID_TO_CORREL_ID and DEAD_LETTER_Q
    PAN = 1
    NAN = 2
    ACTIVITY = 4
    PASS_CORREL_ID = 64
    PASS_MSG_ID = 128
    COA = 256
    COA_WITH_DATA = 768
    COA_WITH_FULL_DATA = 1792
    COD = 2048
    COD_WITH_DATA = 6144
    COD_WITH_FULL_DATA = 14336
    PASS_DISCARD_AND_EXPIRY = 16384
    EXPIRATION = 2097152
    EXPIRATION_WITH_DATA = 6291456
    EXPIRATION_WITH_FULL_DATA = 14680064
    EXCEPTION = 16777216
    EXCEPTION_WITH_DATA = 50331648
    EXCEPTION_WITH_FULL_DATA = 117440512
    DISCARD_MSG = 134217728


class GetOptions(IntFlag):
    """Options of a get (MQGMO_*)."""

    NONE = 0
    WAIT = 1
    SYNCPOINT = 2
    NO_SYNCPOINT = 4
    BROWSE_FIRST = 16
    BROWSE_NEXT = 32
    MARK_SKIP_BACKOUT = 128
    MSG_UNDER_CURSOR = 256
    LOCK = 512
    UNLOCK = 1024
    SYNCPOINT_IF_PERSISTENT = 4096
    FAIL_IF_QUIESCING = 8192


class OpenOptions(IntFlag):
    """Options for opening a queue (MQOO_*), as far as they are needed to read its
    attributes."""

    INPUT_AS_Q_DEF = 1
    INQUIRE = 32
    FAIL_IF_QUIESCING = 8192


class MsgType(IntEnum):
    """The type of a message (MQMT_*)."""

    REQUEST = 1
    REPLY = 2
    REPORT = 4
    DATAGRAM = 8


class Persistence(IntEnum):
    """Whether a message survives a restart of the broker (MQPER_*)."""

    NOT_PERSISTENT = 0
    PERSISTENT = 1
    AS_Q_DEF = 2


class PutApplType(IntEnum):
    """The kind of program that put a message (MQAT_*)."""

    NO_CONTEXT = 0
    UNIX = 6
    QMGR = 7
    USER = 25
    BROKER = 26
    JAVA = 28


class Feedback(IntEnum):
    """The subject of a report message (MQFB_*); reasons above 2000 are valid values,
    too."""

    NONE = 0
    QUIT = 256
    EXPIRATION = 258
    COA = 259
    COD = 260
    PAN = 275
    NAN = 276


class MsgFlags(IntFlag):
    """The relation of a message to its group or segments (MQMF_*)."""

    NONE = 0
    SEGMENTATION_ALLOWED = 1
    SEGMENT = 2
    LAST_SEGMENT = 4
    MSG_IN_GROUP = 8
    LAST_MSG_IN_GROUP = 16


class Enc(IntEnum):
    """The representation of numbers (MQENC_*): integers, packed decimals, floats."""

    INTEGER_REVERSED = 0x002  # little-endian
    INTEGER_MASK = 0x00F
    NORMAL = 0x111  # 273: big-endian, IEEE floats
    REVERSED = 0x222  # 546: little-endian, IEEE floats


class Ccsid(IntEnum):
    """The character set of a text (MQCCSI_* and numbers of code pages)."""

    APPL = -3  # the character set of the application
    INHERIT = -2  # the character set of the part before
    EMBEDDED = -1  # the text names its character sets itself
    Q_MGR = 0  # the character set of the queue manager; also MQCCSI_DEFAULT
    UTF_8 = 1208
    UTF_16 = 1200
    UTF_16_UNICODE_2 = 13488
    UTF_16_UNICODE_3 = 17584


class Format(StrEnum):
    """The format of the bytes of a message (MQFMT_*), without the name's padding."""

    NONE = ""
    STRING = "MQSTR"
    DEAD_LETTER_HEADER = "MQDEAD"
    TRANSMISSION = "MQXMIT"
    RF_HEADER_2 = "MQHRF2"


EXPIRY_UNLIMITED = -1  # MQEI_UNLIMITED
ORIGINAL_LENGTH_UNDEFINED = -1  # MQOL_UNDEFINED
