/* SPDX-License-Identifier: MIT */
/* Every limit on a queue, a buffer, a retry or a wait, by name, in one place. Sizes in bytes, times
 * in milliseconds. A limit that a person may want to change is a setting instead (app/settings). */
#ifndef GH_BASE_LIMITS_H
#define GH_BASE_LIMITS_H

#define LIMIT_KIB(n) ((size_t)(n)*1024)
#define LIMIT_MIB(n) ((size_t)(n)*1024 * 1024)

/* HTTP: one request */
#define LIMIT_HTTP_TARGET_SIZE     LIMIT_KIB(8)
#define LIMIT_HTTP_HEAD_SIZE       LIMIT_KIB(32)
#define LIMIT_HTTP_HEADER_COUNT    100
#define LIMIT_HTTP_CHUNK_LINE_SIZE 256
#define LIMIT_HTTP_EXTENSIONS_SIZE LIMIT_KIB(16)
#define LIMIT_HTTP_TRAILER_SIZE    LIMIT_KIB(8)
#define LIMIT_HTTP_BODY_SIZE       LIMIT_MIB(1)
#define LIMIT_HTTP_BODY_ITEMS      1000           /* of a body that is a list */
#define LIMIT_HTTP_LARGE_SIZE      LIMIT_MIB(256) /* of all bodies larger than the usual */

/* HTTP: one connection */
#define LIMIT_HTTP_HEAD_MS          10000
#define LIMIT_HTTP_BODY_MS          30000
#define LIMIT_HTTP_IDLE_MS          75000
#define LIMIT_HTTP_WRITE_MS         30000
#define LIMIT_HTTP_LINGER_MS        2000
#define LIMIT_HTTP_FIRST_MS         500 /* for the first request, once the gateway stops */
#define LIMIT_HTTP_ANSWER_SIZE      LIMIT_MIB(16)
#define LIMIT_HTTP_LATER_MS         250 /* until an answer that is not there is asked for again */
#define LIMIT_HTTP_FEED_SIZE        LIMIT_MIB(32) /* of what is told of at once */
#define LIMIT_HTTP_UNUSED_EXCHANGES 64
#define LIMIT_HTTP_CONNECTIONS      60000

/* HTTP: who asks, from where */
#define LIMIT_NETWORKS       128
#define LIMIT_ORIGINS        64
#define LIMIT_HOSTS          64
#define LIMIT_FORWARDED_HOPS 32

/* HTTP/2: one connection */
#define LIMIT_HTTP2_STREAMS           100
#define LIMIT_HTTP2_WINDOW_SIZE       LIMIT_KIB(64)
#define LIMIT_HTTP2_TUNNEL_SIZE       LIMIT_KIB(64) /* of what an extended CONNECT has to send */
#define LIMIT_HTTP2_WRITE_SIZE        LIMIT_KIB(32)
#define LIMIT_HTTP2_ACKS              100
#define LIMIT_HTTP2_SETTINGS          32
#define LIMIT_HTTP2_CONTINUATIONS     8
#define LIMIT_HTTP2_RESETS            200
#define LIMIT_HTTP2_RESETS_PER_SECOND 33

/* PostgreSQL: messages and what one connection keeps of them */
#define LIMIT_PGWIRE_STARTUP_SIZE      10000 /* of a packet, as servers have it */
#define LIMIT_START_PARAMETERS         64    /* of a StartupMessage */
#define LIMIT_PGWIRE_MESSAGE_SIZE      LIMIT_MIB(1024)
#define LIMIT_PGWIRE_SMALL_CLIENT_SIZE 10000 /* what a server takes of what is small by nature */
#define LIMIT_PGWIRE_SMALL_SERVER_SIZE 30000 /* what libpq takes of what is small by nature */
#define LIMIT_PGWIRE_TOKEN_SIZE        65535 /* of one answer to an authentication request */
#define LIMIT_CANCEL_KEY_SIZE          256   /* of a cancel key */
#define LIMIT_PGWIRE_OWED              16384 /* answers that a server owes at once */

/* MySQL: packets, and what one connection keeps of them */
#define LIMIT_MYSQLWIRE_OWED          256           /* commands without an answer */
#define LIMIT_MYSQL_START_SIZE        LIMIT_KIB(80) /* of a packet before the session is open */
#define LIMIT_MYSQL_ATTRIBUTES        64            /* of a client, that are passed on */
#define LIMIT_MYSQL_ATTRIBUTES_SIZE   LIMIT_KIB(8)
#define LIMIT_MYSQL_ANSWER_SIZE       LIMIT_MIB(1)  /* of a packet that decides how it goes on */
#define LIMIT_MYSQL_STATEMENT_SIZE    LIMIT_KIB(16) /* in which the name of a file is looked for */
#define LIMIT_MYSQL_HELD_SIZE         512 /* of a command that the gateway may answer itself */
#define LIMIT_MYSQL_JUDGED_SIZE       LIMIT_MIB(15)  /* under rules; beyond is refused */
#define LIMIT_MYSQL_FILTER_STATEMENTS 1024           /* prepared, that rules follow */
#define LIMIT_MYSQL_FILTER_SIZE       LIMIT_MIB(16)  /* of their texts, and long values */
#define LIMIT_MYSQL_VIEWS_SIZE        LIMIT_KIB(256) /* of the names of a target's views */
#define LIMIT_MYSQL_REPLAY_STATEMENTS 1024
#define LIMIT_MYSQL_REPLAY_SIZE       LIMIT_MIB(16) /* of their texts */
#define LIMIT_MYSQL_REPLAY_COLUMNS    4096

/* PostgreSQL: the start of a connection to a target */
#define LIMIT_GREETING_SIZE        LIMIT_KIB(64) /* of what it says before it is ready */
#define LIMIT_PG_READ_SIZE         LIMIT_KIB(8)
#define LIMIT_SIGN_IN_KEYS         256     /* of sign-ins by SCRAM that a worker remembers */
#define LIMIT_SIGN_IN_KEYS_IDLE_MS 3600000 /* until they are wiped */

/* PostgreSQL: a statement of the gateway's own */
#define LIMIT_PG_STATEMENT_SIZE LIMIT_KIB(64) /* with its parameters */
#define LIMIT_QUERY_ANSWER_SIZE LIMIT_MIB(8)

/* what the gateway itself asks targets, while a caller waits */
#define LIMIT_TARGET_CALLS     4 /* at once; each holds a thread of the slow pool */
#define LIMIT_TARGET_OPEN_MS   10000
#define LIMIT_TARGET_QUERY_MS  10000
#define LIMIT_TARGET_CANCEL_MS 2000
#define LIMIT_CATALOG_ROWS     10000 /* of one answer: databases, tables or columns */
#define LIMIT_ESTIMATE_STEPS   64    /* of a plan, as people are shown it */

/* PostgreSQL: a client that is not known yet */
#define LIMIT_FRONT_AUTHENTICATION_MS 30000
#define LIMIT_FRONT_WRITE_MS          10000 /* of what opens the session, in any protocol */
#define LIMIT_PG_FRONT_LINGER_MS      2000
#define LIMIT_PG_FRONT_INPUT_SIZE     LIMIT_KIB(4) /* read before its turn came */
#define LIMIT_PG_FRONT_SASL_SIZE      (LIMIT_SCRAM_MESSAGE_SIZE + 64)
#define LIMIT_PG_FRONT_OUTPUT_SIZE    LIMIT_KIB(64)
#define LIMIT_FRONT_CERTIFICATE_SIZE  LIMIT_KIB(64)
#define LIMIT_PG_FRONT_NAME_SIZE      63 /* of a name in an error, as servers cut it */

/* PostgreSQL: a session that is watched */
#define LIMIT_RECORDED_ROWS_SIZE LIMIT_MIB(1) /* recorded of one statement's rows */

/* PostgreSQL: guard rails on a session */
#define LIMIT_PG_FILTER_TEXT_SIZE    LIMIT_MIB(4)  /* of a Query or a Parse; beyond is refused */
#define LIMIT_PG_FILTER_MESSAGE_SIZE LIMIT_MIB(16) /* of a Bind, likewise */
#define LIMIT_PASSAGE_OUT_SIZE       LIMIT_MIB(18) /* to one side at once */
#define LIMIT_HELD_BEHIND_SIZE       LIMIT_KIB(64) /* read behind a statement that is held */
#define LIMIT_HELD_WORDS_SIZE        LIMIT_KIB(4)  /* of what a client is told of it */
#define LIMIT_PG_FILTER_NAMES        4096          /* of prepared statements, and of portals */
#define LIMIT_PG_FILTER_NAMES_SIZE   LIMIT_MIB(16) /* of the texts that they stand for */
#define LIMIT_PG_FILTER_WORDS_SIZE   LIMIT_KIB(64) /* of one message of ours */

/* PostgreSQL: a session whose answers are masked */
#define LIMIT_MASK_MESSAGE_SIZE      LIMIT_MIB(8)  /* that is examined whole */
#define LIMIT_PG_MASK_NAMES          2048          /* statements, and portals, that are known */
#define LIMIT_PG_MASK_DESCRIBED_SIZE LIMIT_MIB(8)  /* of what they were described by */
#define LIMIT_PG_MASK_FORMATS        1664          /* of a Bind's results, as servers have it */
#define LIMIT_PG_MASK_ROW_PIECES     64            /* that a row of a copy comes in */
#define LIMIT_PG_FILTER_REST_SIZE    LIMIT_KIB(4)  /* of a reading that may pass unseen */
#define LIMIT_PG_MASK_DEPTH          8             /* of arrays and composites in each other */
#define LIMIT_PG_MASK_DESCRIBE_STEPS 64            /* back from an Execute */
#define LIMIT_PG_MASK_SPARE          8             /* places for requests that are kept */
#define LIMIT_PG_MASK_REACH_NAMES    1024          /* in a script whose reach can be told */
#define LIMIT_PG_MASK_LINEAGE_SIZE   LIMIT_KIB(64) /* of a text whose columns are followed */
#define LIMIT_PG_MASK_KEPT           256           /* names that SQL prepared or declared */

/* SSH: files over it, as one channel keeps them */
#define LIMIT_SFTP_REQUEST_SIZE LIMIT_KIB(16) /* but for contents, which are not collected */
#define LIMIT_SFTP_ANSWER_SIZE  LIMIT_KIB(8)  /* of what is read; the rest of it goes by */
#define LIMIT_SCP_LINE_SIZE     LIMIT_KIB(8)
#define LIMIT_SFTP_HANDLES      256  /* open at once */
#define LIMIT_SFTP_OWED         4096 /* requests without an answer */
#define LIMIT_SFTP_PATH_SIZE    LIMIT_KIB(4)

/* SSH: what passes in a session */
#define LIMIT_SSH_FOLLOWED           128           /* channels at once */
#define LIMIT_RECORDED_SSH_SIZE      LIMIT_MIB(64) /* of what a program or terminal wrote */
#define LIMIT_SSH_OWED               64            /* requests of one channel without an answer */
#define LIMIT_SSH_WORDS_SIZE         2000
#define LIMIT_SSH_RESERVE            LIMIT_KIB(4)   /* of a client's window, for words of ours */
#define LIMIT_SSH_LINE_SIZE          LIMIT_KIB(256) /* of output that rules look at */
#define LIMIT_SSH_TYPED_SIZE         LIMIT_KIB(4)   /* of a line that somebody types */
#define LIMIT_SSH_TAIL_SIZE          LIMIT_KIB(4)   /* of a terminal's line, likewise */
#define LIMIT_SSH_COMMAND_SIZE       LIMIT_KIB(32)  /* that rules look through */
#define LIMIT_SSH_COMMAND_WORDS      1024
#define LIMIT_SSH_COMMAND_LINES      64 /* inside of each other */
#define LIMIT_SSH_COMMAND_TEXTS      1024
#define LIMIT_SSH_COMMAND_TEXTS_SIZE LIMIT_KIB(512)

/* a session's bytes, whatever its protocol */
#define LIMIT_PUMP_OWN_SIZE  LIMIT_KIB(64) /* of the gateway's own words to a slow client */
#define LIMIT_PUMP_FINISH_MS 5000

/* the gate of native clients */
#define LIMIT_CONNECTION_CREDENTIALS 64    /* good ones of a connection */
#define LIMIT_MEMBER_CREDENTIALS     8     /* likewise, that one member keeps side by side */
#define LIMIT_GATE_LISTENERS         16    /* protocols that clients can speak */
#define LIMIT_GATE_SESSIONS          20000 /* of a worker */
#define LIMIT_GATE_NEWCOMER_MS       2000  /* of silence, until it makes room for others */
#define LIMIT_GATE_LATECOMER_MS      1000  /* of a stop: who had just come may be answered once */
#define LIMIT_GATE_OPEN_MS           30000 /* to the target and its sign-in */
#define LIMIT_GATE_CANCEL_MS         10000
#define LIMIT_GATE_LINK_MS           5000 /* for an agent's link to come to a session's worker */
#define LIMIT_GATE_LINK_LOOK_MS      50   /* between two looks */
#define LIMIT_SPARES                 64   /* targets of a worker, signed in to ahead of need */
/* For how long. PostgreSQL waits five seconds for the others to leave before it refuses to drop a
 * database, so that one of these never stands in the way. */
#define LIMIT_SPARE_MS                3000
#define LIMIT_GATE_HELD               1024 /* statements that wait for people, of all sessions */
#define LIMIT_GATE_HELD_LOOK_MS       400  /* until it is asked again what was decided */
#define LIMIT_GATE_HELD_LOOKS         25   /* of these, until the target is told that it goes on */
#define LIMIT_GATE_HELD_VALUES_SIZE   LIMIT_MIB(2) /* of parameters, as people are shown them */
#define LIMIT_GATE_HELD_GRANT_S       3600         /* an approval waits, if no rule says less */
#define LIMIT_GATE_REHEARSED_GRANT_S  60    /* that of what has run, for its session to see it */
#define LIMIT_GATE_WATCH_MS           400   /* until it is asked again who may go on */
#define LIMIT_GATE_LOOKUP_MS          10000 /* for a target to say where columns come from */
#define LIMIT_GATE_LOOKUP_ROWS        200000
#define LIMIT_GATE_LOOKUP_SIZE        LIMIT_MIB(32)
#define LIMIT_GATE_FACTS              32    /* catalogs that a worker knows */
#define LIMIT_GATE_FACTS_MS           60000 /* for which one is taken to be as it was */
#define LIMIT_GATE_FACTS_VIEW_MS      1000  /* likewise of what views are */
#define LIMIT_GATE_CHANGES            4096  /* counters of changes, by the name of a database */
#define LIMIT_GATE_RULES              1000  /* of connections, compiled */
#define LIMIT_GATE_RULES_SIZE         LIMIT_MIB(64) /* of one guard rail */
#define LIMIT_GATE_GUARDED            1000    /* findings of a session that its end tells of */
#define LIMIT_GATE_READ_ACCOUNTS      65536   /* that are kept while nobody uses them */
#define LIMIT_GATE_READS_MS           1000    /* until what was read is written again */
#define LIMIT_GATE_READS_RETRY_MS     5000    /* likewise, when it could not be */
#define LIMIT_GATE_RECOVERY_MS        5000    /* until recordings left open are looked for again */
#define LIMIT_GATE_RECOVERY_MAX_MS    300000  /* likewise, when nothing can be done about them */
#define LIMIT_GATE_RETENTION_MS       3600000 /* until old recordings are looked for again */
#define LIMIT_GATE_RETENTION_FIRST_MS 2000    /* after the start */
#define LIMIT_GATE_RETENTION_PORTION  500     /* of recordings, at once */

/* scripts that are executed over the API */
#define LIMIT_EXECUTIONS            2000
#define LIMIT_EXECUTION_SCRIPT_SIZE LIMIT_MIB(64)
#define LIMIT_EXECUTION_BODY_SIZE   LIMIT_MIB(96)  /* of the request: as JSON, a text is longer */
#define LIMIT_EXECUTION_SCRIPTS     LIMIT_MIB(512) /* of all that are under way */
#define LIMIT_EXECUTION_OUTPUT_SIZE LIMIT_MIB(1)   /* that is kept for the answer */
#define LIMIT_EXECUTION_ROW_SIZE    LIMIT_MIB(4)
#define LIMIT_EXECUTION_SHOWN_SIZE  LIMIT_MIB(2) /* of a row that is shown, of pages */
#define LIMIT_EXECUTION_ROWS        1000         /* of a statement, or of a page */
#define LIMIT_EXECUTION_PAGE_ROWS   10000        /* that somebody may ask for */
#define LIMIT_EXECUTION_HOLD_MS     60000        /* until the next page must have been asked for */
#define LIMIT_EXECUTION_HOLD_LOOK   20           /* likewise, while somebody reads this one */
#define LIMIT_EXECUTION_OPEN_MS     60000
#define LIMIT_EXECUTION_WAIT_MS     50000 /* until the answer says that it goes on */
#define LIMIT_EXECUTION_S           86400 /* that a script may take */

/* SSH */
#define LIMIT_SSH_FRAME_SIZE                                                                       \
    (LIMIT_KIB(64) - 4)                          /* of a message; with its head it fits a record   \
                                                  */
#define LIMIT_SSH_PACKET_SIZE_MIN 256            /* that the peer of a channel must take */
#define LIMIT_SSH_CHANNELS        64             /* of a session, at once */
#define LIMIT_SSH_REQUESTS        64             /* of a channel, that nobody has answered yet */
#define LIMIT_SSH_WINDOW          LIMIT_KIB(256) /* of a channel, between front and target */
#define LIMIT_SSH_BUFFERED        LIMIT_MIB(4)   /* of a channel, that libssh keeps */
#define LIMIT_SSH_HELD            LIMIT_MIB(1)   /* of a channel, before it is left to libssh */
#define LIMIT_SSH_IN_SIZE         LIMIT_KIB(256) /* frames that wait to be taken */
#define LIMIT_SSH_OUT_SIZE        LIMIT_KIB(256) /* data that waits to be read as frames */
#define LIMIT_SSH_TRIES           6              /* to sign in, of a connection */
#define LIMIT_SSH_KEEP_ALIVE_MS   30000
#define LIMIT_SSH_FINISH_MS       2000 /* until who does not read the last words is left */

/* SSH: keys of people, and forwards */
#define LIMIT_SSH_HOST_SIZE         255  /* of a forward */
#define LIMIT_SSH_FORWARDS          64   /* patterns of ports that may be forwarded to */
#define LIMIT_SSH_VARIABLES         64   /* names of variables that pass to a server */
#define LIMIT_SSH_VARIABLE_SIZE     64   /* of such a name */
#define LIMIT_SSH_KEY_TRIES         16   /* likewise, of keys that are not known */
#define LIMIT_SSH_KEY_ASKED         64   /* keys that a client may ask about before */
#define LIMIT_SSH_RSA_BITS_MIN      2048 /* of a person's key */
#define LIMIT_SSH_RSA_BITS          8192
#define LIMIT_SSH_APPLICATION_SIZE  256 /* of a security key */
#define LIMIT_SSH_KEY_SIZE          LIMIT_KIB(2)
#define LIMIT_SSH_KEY_COMMENT       254
#define LIMIT_SSH_KEYS              32 /* of a person */
#define LIMIT_SSH_CERTIFICATE_SIZE  LIMIT_KIB(32)
#define LIMIT_SSH_CERTIFICATE_NAMES 256      /* in each of its lists */
#define LIMIT_SSH_CERTIFICATE_S     86400    /* that one of the gateway's is good for */
#define LIMIT_SSH_AUTHORITIES       32       /* of others, that an organization trusts */
#define LIMIT_SSH_KEY_SESSION_S     31536000 /* where a connection has no bound of its own */

/* commands that are run for them */
#define LIMIT_EXEC_FRAME_SIZE   (LIMIT_KIB(64) - 5) /* with its head it fits a record */
#define LIMIT_EXEC_START_SIZE   LIMIT_MIB(32) /* of a command with its environment and files */
#define LIMIT_EXEC_WORDS_SIZE   LIMIT_KIB(4)
#define LIMIT_EXEC_LINE_SIZE    LIMIT_MIB(1) /* of a line of output that rules look at */
#define LIMIT_COMMANDS          256          /* at once */
#define LIMIT_COMMAND_START_MS  60000        /* until it is said what is to be run */
#define LIMIT_COMMAND_S         86400        /* that one may take */
#define LIMIT_COMMAND_TERM_MS   500          /* between being asked to end and being killed */
#define LIMIT_COMMAND_KILL_MS   5000         /* until what does not die is left */
#define LIMIT_COMMAND_TELL_MS   30000        /* for its end to be heard */
#define LIMIT_COMMAND_ITEMS     1000         /* arguments and variables */
#define LIMIT_COMMAND_PROCESSES 256
#define LIMIT_COMMAND_FILES     1024
#define LIMIT_COMMAND_MEMORY    LIMIT_MIB(2048) /* of each of its processes */
#define LIMIT_COMMAND_FILE_SIZE LIMIT_MIB(1024)
#define LIMIT_COMMAND_OUT_SIZE  LIMIT_KIB(256)  /* of output that nobody has taken yet */
#define LIMIT_COMMAND_OUTPUT    LIMIT_MIB(2048) /* in all */

/* WebSockets, and the terminals that are reached over them */
#define LIMIT_WEBSOCKET_MESSAGE_SIZE LIMIT_KIB(64)  /* that is read */
#define LIMIT_WEBSOCKET_OUT_SIZE     LIMIT_KIB(256) /* that the other end has not taken */
#define LIMIT_WEBSOCKET_PING_MS      20000
#define LIMIT_WEBSOCKET_DEAD_MS      60000 /* without a byte, while one is listened to */
#define LIMIT_WEBSOCKET_CLOSE_MS     3000  /* for the other end's good bye */
#define LIMIT_TERMINAL_COLUMNS       1000
#define LIMIT_TERMINAL_ROWS          1000
#define LIMIT_TERMINAL_KIND_SIZE     64    /* of TERM */
#define LIMIT_TERMINAL_S             43200 /* that one may be open */
#define LIMIT_TERMINAL_IDLE_S        1800  /* in which nothing is typed or shown */
#define LIMIT_TERMINAL_CHECK_MS      1000  /* until it is asked again who sits there */
#define LIMIT_TERMINALS              1000

/* audit log */
#define LIMIT_AUDIT_VERIFIED 20000 /* entries that one call looks at */

/* saved queries */
#define LIMIT_SAVED_QUERIES    500 /* of a person */
#define LIMIT_SAVED_QUERY_SIZE LIMIT_KIB(16)

/* reviews */
#define LIMIT_REVIEW_COMMENTS    500
#define LIMIT_REVIEW_SCRIPT_SIZE LIMIT_MIB(16)
#define LIMIT_REVIEW_SHOWN_SIZE  LIMIT_KIB(64) /* of a script; more of it comes as a file */
#define LIMIT_REVIEW_PENDING     100           /* requests of one caller that wait */
#define LIMIT_REVIEW_CLAIM_S     65            /* until a run that did not begin is taken again */
/* Of one caller, until they are removed, with what ran left out. */
#define LIMIT_REVIEW_KEPT       10000
#define LIMIT_REVIEW_KEPT_SIZE  LIMIT_MIB(128) /* of their scripts and values, sealed */
#define LIMIT_REVIEW_WHOLE_DAYS 7              /* until a script that did not run is cut */
#define LIMIT_REVIEW_CUT        4              /* of these, at once */
#define LIMIT_REVIEW_DUE        1000           /* scripts that may run by themselves, at a look */
#define LIMIT_REVIEW_DUE_S      5  /* after the approval, until it is looked whether one runs */
#define LIMIT_REVIEW_AGAIN_S    60 /* until one that did not reach its target is run again */
#define LIMIT_REVIEW_TRIES      3  /* by itself */

#define LIMIT_ZONE_FILE_SIZE LIMIT_KIB(64) /* of the time zone database; the longest have 4 */

/* the command line for people */
#define LIMIT_CLIENT_CONTEXTS     64            /* gateways that one knows */
#define LIMIT_CLIENT_FILE_SIZE    LIMIT_KIB(64) /* of contexts; of a token */
#define LIMIT_CLIENT_ANSWER_SIZE  LIMIT_MIB(64) /* of the gateway, where it is not streamed */
#define LIMIT_CLIENT_LINE_SIZE    LIMIT_MIB(64) /* of an answer that is read line by line */
#define LIMIT_CLIENT_REPLY_SIZE   LIMIT_KIB(16) /* of a line, or a refusal, at an upgrade */
#define LIMIT_CLIENT_CONNECT_MS   10000         /* to the gateway */
#define LIMIT_CLIENT_QUIET_MS     75000         /* of an answer that is waited for */
#define LIMIT_CLIENT_SIGN_IN_MS   600000        /* that a person may take in a browser */
#define LIMIT_YAML_SIZE           LIMIT_MIB(1)  /* of a file */
#define LIMIT_YAML_DEPTH          32            /* of values in each other */
#define LIMIT_YAML_VALUES         10000         /* of a document */
#define LIMIT_CLIENT_PORTS        256           /* that 'up' keeps */
#define LIMIT_CLIENT_MANIFESTS    2000          /* documents of one 'apply' */
#define LIMIT_CLIENT_TUNNELS      256           /* connections of one 'connect', at once */
#define LIMIT_CLIENT_TABLE_SIZE   LIMIT_MIB(1)  /* of rows that a table's widths are made of */
#define LIMIT_CLIENT_EXEC_WAIT_MS 400           /* for the end of a short script */
#define LIMIT_CLIENT_RECORDING_MS 30000         /* until a session that was begun is on record */
#define LIMIT_CLIENT_END_MS       5000          /* until the store knows how a session ended */

/* recordings */
#define LIMIT_RECORDING_BLOCK_SIZE       LIMIT_KIB(256) /* of records before they are compressed */
#define LIMIT_RECORDING_CHECK_SIZE       LIMIT_KIB(64)  /* written until the file is looked at */
#define LIMIT_RECORDING_WINDOW_SIZE      LIMIT_KIB(64)  /* of zeros ahead of what is synced */
#define LIMIT_RECORDING_NEXT_WINDOW_SIZE LIMIT_KIB(256) /* of one that has filled its first */
#define LIMIT_RECORDING_LOOKS            20             /* at a block that is being written */
#define LIMIT_RECORDING_LOOK_MS          5
#define LIMIT_RECORDING_SPARE_BUFFERS    4 /* that a worker keeps between flushes */
#define LIMIT_RECORDING_SYNC_THREADS     16
#define LIMIT_RECORDING_MESSAGE_SIZE     LIMIT_MIB(1)  /* of which an export looks at */
#define LIMIT_RECORDING_SHOWN_SIZE       LIMIT_KIB(64) /* of a value in an export as text */
#define LIMIT_RECORDING_STATEMENTS       4096          /* that an export remembers */
#define LIMIT_RECORDING_STATEMENT_SIZE   LIMIT_MIB(8)  /* of their texts, together */

/* recordings that are read */
#define LIMIT_SESSION_READERS         64           /* at once */
#define LIMIT_SESSION_READERS_EACH    8            /* of one person */
#define LIMIT_SESSION_EVENTS_SIZE     LIMIT_MIB(1) /* of text in the answer that has a session */
#define LIMIT_SESSION_STREAM_PAUSE_MS 150          /* until it is looked for more */
#define LIMIT_SESSION_STREAM_ALIVE_S  15           /* until something is said that says nothing */

/* SQL: one text that is analysed */
#define LIMIT_SQL_TEXT_SIZE       LIMIT_MIB(1024)
#define LIMIT_SQL_STATEMENTS      65536   /* of a text; the rest of it is one more, and unknown */
#define LIMIT_SQL_DEPTH           2000    /* of open parentheses and brackets */
#define LIMIT_SQL_NAMES           20000   /* that a statement tells apart; more are unknown */
#define LIMIT_SQL_NAME_SIZE       63      /* servers cut names to it */
#define LIMIT_SQL_MYSQL_NAMES     256     /* that a statement of MySQL tells apart, of each kind */
#define LIMIT_SQL_MYSQL_NAME_SIZE 64      /* servers refuse longer ones */
#define LIMIT_SQL_LINEAGE_STEPS   4000000 /* until nothing is known of what a statement returns */
#define LIMIT_SQL_LINEAGE_COLUMNS 16384   /* of one item of FROM; servers allow 1,664 */

/* what is found in text */
#define LIMIT_DETECT_CONTEXT_SIZE 48  /* before a value */
#define LIMIT_DETECT_ARRAY_SIZE   256 /* of elements before a value, up to their key */
#define LIMIT_DETECT_URL_SIZE     2048
#define LIMIT_DETECT_VALUE_SIZE   256  /* of a password that is assigned */
#define LIMIT_DETECT_HEADER_SIZE  1024 /* of a JWT */

/* guard rails: one, one rule, and all of one connection */
#define LIMIT_GUARD_RULES_EACH     1000  /* of one guard rail, in each direction */
#define LIMIT_GUARD_RULES          20000 /* of one connection */
#define LIMIT_GUARD_WORDS          1000  /* of one rule */
#define LIMIT_GUARD_WORD_LENGTH    500   /* in characters */
#define LIMIT_GUARD_PATTERN_LENGTH 2000  /* likewise */
#define LIMIT_GUARD_OPERATIONS     100   /* of one rule */
#define LIMIT_GUARD_GLOBS          500   /* of one rule, of relations and of functions */
#define LIMIT_GUARD_RULE_GROUPS    100
#define LIMIT_GUARD_BUDGET         1000000000000 /* rows or bytes of a read budget */
#define LIMIT_GUARD_MESSAGE_LENGTH 1000
#define LIMIT_GUARD_CONNECTIONS    10000
#define LIMIT_GUARD_ATTRIBUTES     1000
#define LIMIT_GUARD_TEXT_SIZE      LIMIT_MIB(16) /* of a text that is judged; beyond is blocked */
#define LIMIT_GUARD_PATTERN_WEIGHT 1000  /* characters and classes, with its repeats written out */
#define LIMIT_GUARD_WEIGHT         60000 /* of the patterns of one connection, together */
#define LIMIT_GUARD_EXPRESSIONS    20000 /* words and patterns of one connection */
#define LIMIT_GUARD_BUFFER_SIZE    LIMIT_KIB(256) /* that a thread keeps for the next text */

/* guard rails: what was judged, of one worker */
#define LIMIT_GUARD_CACHE_ENTRIES   8192
#define LIMIT_GUARD_CACHE_SIZE      LIMIT_MIB(16)
#define LIMIT_GUARD_CACHE_TEXT_SIZE LIMIT_KIB(16) /* of a text that is remembered */

/* guard rails: trials on what is on record */
#define LIMIT_TRIAL_DAYS           90
#define LIMIT_TRIAL_MS             10000
#define LIMIT_TRIAL_SESSIONS       5000  /* that are looked at, the newest */
#define LIMIT_TRIAL_TALLIES        500   /* of a user and a connection */
#define LIMIT_TRIAL_EXAMPLES       3     /* of each */
#define LIMIT_TRIAL_STATEMENT_SIZE 300   /* of an example, that is shown */
#define LIMIT_TRIAL_TEXT_LENGTH    65536 /* of a statement, or a value, that is sent to be tried */
#define LIMIT_TRIAL_SAMPLES        1000  /* values that masking is tried on at once */
#define LIMIT_TRIAL_NAME_LENGTH    192   /* of a column, with its table and schema */

/* masking: one rule, the rules of one connection, and what one value may cost */
#define LIMIT_MASK_LIST       100           /* groups of entity types, custom ones, columns */
#define LIMIT_MASK_TYPES      200           /* of one group */
#define LIMIT_MASK_REGEX      1000          /* characters of a custom type's pattern */
#define LIMIT_MASK_DENY_LIST  1000          /* words of one custom type */
#define LIMIT_MASK_DENY_WORD  256           /* characters */
#define LIMIT_MASK_WEIGHT     20000         /* of all patterns together, as that of guard rails */
#define LIMIT_MASK_KEEP_LAST  64            /* characters that stay of a value */
#define LIMIT_MASK_VALUE_SIZE LIMIT_MIB(16) /* of a text that is looked through */
#define LIMIT_MASK_SPANS      65536 /* found in one value; beyond, all in between is masked */
#define LIMIT_MASK_JSON_DEPTH 1024
#define LIMIT_MASK_LINKS      1000           /* rules of one connection */
#define LIMIT_MASK_KEPT_SIZE  LIMIT_KIB(256) /* of memory that a thread keeps for the next value */

/* what guard rails and masking leave on a session, and reports of it */
#define LIMIT_SESSION_GUARDRAILS_SIZE LIMIT_KIB(64) /* of what is shown; more is counted only */
#define LIMIT_REPORT_ITEMS            10000
#define LIMIT_REPORT_DAYS             120

/* workers, pool and streams */
#define LIMIT_READ_SIZE             LIMIT_KIB(64)
#define LIMIT_TLS_HANDSHAKE_MS      10000
#define LIMIT_TLS_QUIET_MS          500 /* then a connection has no buffers */
#define LIMIT_TLS_UNSENT_SIZE       LIMIT_KIB(64)
#define LIMIT_TLS_FIRST_SIZE        LIMIT_KIB(16)
#define LIMIT_WORKER_COUNT          64
#define LIMIT_POOL_QUEUE_COUNT      4096
#define LIMIT_SLOW_POOL_THREADS     8
#define LIMIT_SLOW_POOL_QUEUE_COUNT 100
#define LIMIT_LONG_POOL_THREADS     16 /* and as many wait */
#define LIMIT_ASKING_POOL_THREADS   16 /* of what asks an identity provider; and as many wait */
#define LIMIT_ASKING_EACH           8  /* of one address, asking or waiting */
#define LIMIT_ACCEPTS_PER_TURN      64
#define LIMIT_ACCEPT_PAUSE_MS       200
#define LIMIT_ACCEPT_LOG_MS         60000 /* until it is said again that there are pauses */
#define LIMIT_LISTEN_BACKLOG        4096
#define LIMIT_KEPT_SOCKETS          16 /* that a service manager hands over */
#define LIMIT_POOL_STACK_SIZE       LIMIT_KIB(512)
#define LIMIT_STOP_LEAST_MS         2000 /* of a stop, until what is still to be written is left */
#define LIMIT_STOP_WORDS_MS         400  /* of a stop: for clients to be told why */
#define LIMIT_STOP_WRITE_MS         400  /* of a stop: for what is written last */

/* connections to others */
#define LIMIT_HOST_SIZE            254 /* of a name, and its NUL */
#define LIMIT_DIAL_ADDRESSES       16
#define LIMIT_DIAL_STEP_MS         250 /* until the next address is tried (RFC 8305, 5) */
#define LIMIT_DIAL_CAUSES          3   /* that an error tells of */
#define LIMIT_KEEPALIVE_IDLE_S     60
#define LIMIT_KEEPALIVE_STEP_S     15
#define LIMIT_KEEPALIVE_COUNT      4
#define LIMIT_RESOLVER_THREADS     16
#define LIMIT_RESOLVER_QUEUE_COUNT 1024

/* what is asked of others */
#define LIMIT_FETCH_SIZE       LIMIT_MIB(1)
#define LIMIT_FETCH_CONNECT_MS 4000
#define LIMIT_FETCH_MS         8000
#define LIMIT_FETCH_MAIL_MS    12000 /* servers let strangers wait before they greet */
#define LIMIT_FETCH_AT_ONCE    8
/* notifications */
#define LIMIT_NOTIFY_SINKS          50            /* of an organization */
#define LIMIT_NOTIFY_PENDING        10000         /* deliveries that wait for one sink */
#define LIMIT_NOTIFY_ANSWER_SIZE    LIMIT_KIB(64) /* that is read of a receiver's answer */
#define LIMIT_NOTIFY_MS             7000          /* for a receiver to answer */
#define LIMIT_NOTIFY_LEASE_MS       20000         /* until another gateway may send it */
#define LIMIT_NOTIFY_ADDRESSES      20            /* of one sink of e-mail */
#define LIMIT_NOTIFY_LOOK_MS        500           /* until it is looked again what is due */
#define LIMIT_NOTIFY_RETRY_MS       5000     /* after the first failure; then four times that */
#define LIMIT_NOTIFY_RETRY_MAX_MS   14400000 /* likewise, at most */
#define LIMIT_NOTIFY_TRIES          12       /* which takes a day */
#define LIMIT_NOTIFY_UPKEEP_MS      1000     /* until it is looked again what is over */
#define LIMIT_NOTIFY_CLOCK_MS       600000   /* until a clock that was set is believed */
#define LIMIT_NOTIFY_DELIVERED_DAYS 7        /* that one is listed */
#define LIMIT_NOTIFY_DEAD_DAYS      30       /* likewise */
#define LIMIT_NOTIFY_SWEEP          500      /* rows, at once */
#define LIMIT_NOTIFY_REPLAY         1000     /* deliveries, at once */
#define LIMIT_NOTIFY_HITS           20       /* of a session, that a message tells of */

#define LIMIT_PROVIDER_REQUESTS 16 /* to an identity provider at once */
#define LIMIT_PROVIDER_WAITERS  16 /* for what it publishes */

/* passwords */
#define LIMIT_DEVICE_LOGINS      2000 /* sign-ins of programs without a browser, under way */
#define LIMIT_DEVICE_LOGINS_EACH 100  /* of one address */
#define LIMIT_SIGN_IN_PLACES     100  /* addresses of one person that are remembered */
#define LIMIT_SIGN_IN_ACCOUNTS   8    /* of one address, that are tried when none is named */
#define LIMIT_INVITATION_DAYS    7    /* that an invited person's link is good */

/* the secrets of a connection */
#define LIMIT_SECRETS_MS          15000 /* for all of them */
#define LIMIT_SECRET_REQUEST_MS   5000
#define LIMIT_SECRET_ATTEMPTS     4
#define LIMIT_SECRET_PAUSE_MS     200 /* before the second attempt; then twice as long */
#define LIMIT_SECRET_TRUST        64  /* organizations of --local-secrets */
#define LIMIT_ORGANIZATION_LIST   64  /* likewise, of --local-commands */
#define LIMIT_SECRET_CAUSE_SIZE   200 /* of what somebody else says of a failure */
#define LIMIT_SECRET_SHOWN_SIZE   200 /* of a reference, in an error */
#define LIMIT_AWS_FILE_SIZE       LIMIT_KIB(256)
#define LIMIT_AWS_METADATA_MS     1500 /* what answers on the same machine, or not at all */
#define LIMIT_SESSION_FILES_DEPTH 8    /* of folders that a program made beside its files */

/* tunnel: one link and its channels */
#define LIMIT_TUNNEL_CHANNELS          10000
#define LIMIT_TUNNEL_CHANNEL_WINDOW    LIMIT_MIB(1)
#define LIMIT_TUNNEL_LINK_WINDOW       LIMIT_MIB(16)  /* on its way */
#define LIMIT_TUNNEL_HELD_SIZE         LIMIT_MIB(256) /* for who does not read; then all wait */
#define LIMIT_TUNNEL_WRITE_SIZE        LIMIT_KIB(128)
#define LIMIT_TUNNEL_MESSAGE_SIZE      LIMIT_KIB(512) /* that goes with asking for a channel */
#define LIMIT_TUNNEL_KIND_SIZE         64
#define LIMIT_TUNNEL_PING_MS           5000
#define LIMIT_TUNNEL_DEAD_MS           14000 /* without a byte; a timer's tick comes on top */
#define LIMIT_TUNNEL_HELLO_MS          10000
#define LIMIT_TUNNEL_RESETS            10000
#define LIMIT_TUNNEL_RESETS_PER_SECOND 5000

/* tunnel: agents */
#define LIMIT_TUNNEL_ANSWER_SIZE      LIMIT_KIB(16) /* of the head that answers the upgrade */
#define LIMIT_TUNNEL_DIAL_MS          10000
#define LIMIT_TUNNEL_KINDS            32
#define LIMIT_TUNNEL_NODES            64
#define LIMIT_TUNNEL_LINKS            64 /* of an agent to a node: as many as it has workers */
#define LIMIT_TUNNEL_RECONNECT_MS_MIN 1000
#define LIMIT_TUNNEL_RECONNECT_MS_MAX 30000
#define LIMIT_TUNNEL_REFRESH_MS       5000 /* of what the store says about links */
#define LIMIT_TUNNEL_LEASE_MS         15000

/* gateways that use one store */
#define LIMIT_NODE_LOOK_MS      1000  /* until it is looked again who is there */
#define LIMIT_NODE_CLOCKS_MS    60000 /* that a request may have been under way, by two clocks */
#define LIMIT_NODE_REQUESTS     4096  /* that are remembered, lest one is taken twice */
#define LIMIT_NODE_REQUEST_SIZE LIMIT_KIB(8)
#define LIMIT_NODE_PIECE_SIZE   LIMIT_KIB(512) /* of a recording */
#define LIMIT_NODE_CANCEL_MS    2000
#define LIMIT_NODE_CANCELS      4 /* that others are asked about at once: anybody can send one */

/* documents */
#define LIMIT_JSON_DEPTH 64

/* tokens */
#define LIMIT_JWT_SIZE         LIMIT_KIB(16)
#define LIMIT_JWT_KEY_ID_SIZE  256
#define LIMIT_JWT_SUBJECT_SIZE 255
#define LIMIT_PROOF_SIZE       LIMIT_KIB(64) /* of a caller that is remembered */
#define LIMIT_JWK_SET_SIZE     LIMIT_KIB(256)
#define LIMIT_JWK_SET_COUNT    64

/* passwords in protocols */
#define LIMIT_SASLPREP_SIZE      1024 /* of a password that is not ASCII */
#define LIMIT_SCRAM_MESSAGE_SIZE LIMIT_KIB(2)
#define LIMIT_SCRAM_NONCE_SIZE   256
#define LIMIT_SCRAM_SALT_SIZE    128
#define LIMIT_SCRAM_ITERATIONS   1000000
#define LIMIT_SCRAM_VERIFIERS    128 /* of those who share one name, in all organizations */

/* made at once for a machine identity; others come when they are asked for */
#define LIMIT_MACHINE_CREDENTIALS 1000

/* the store */
#define LIMIT_STORE_STATEMENTS       1024
#define LIMIT_LIST_LOOKED            2000  /* rows for a page of what no index finds */
#define LIMIT_AUDIT_DISORDER         1000  /* entries that clocks of gateways may misplace */
#define LIMIT_LIST_COUNTED           10000 /* totals stop there */
#define LIMIT_PAGE_HINTS             256   /* of one list */
#define LIMIT_PAGE_HINT_LISTS        32
#define LIMIT_PAGE_HINT_STEP         200 /* rows that are counted without noting where */
#define LIMIT_SEAL_KEYS              8
#define LIMIT_STORE_REPEATS          30
#define LIMIT_STORE_GROUP_COUNT      256
#define LIMIT_STORE_WAL_ATTEMPTS     200
#define LIMIT_STORE_MIGRATION_SIZE   LIMIT_MIB(1)
#define LIMIT_STORE_WAIT_MS          5000
#define LIMIT_STORE_RECONNECT_MS_MIN 50
#define LIMIT_STORE_RECONNECT_MS_MAX 2000

#endif
