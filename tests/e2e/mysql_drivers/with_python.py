# SPDX-License-Identifier: MIT
"""What a driver of Python, or a command line, does: a line of JSON for each check of README.md."""
import importlib
import json
import os
import subprocess
import sys
import threading

NAME, CLIENT = sys.argv[1], sys.argv[2:]
PLACE = {"host": os.environ["DB_HOST"], "port": int(os.environ["DB_PORT"]), "user": os.environ["DB_USER"],
         "password": os.environ["DB_PASSWORD"], "database": os.environ["DB_NAME"]}
CA = os.environ["DB_CA"]
with open(os.environ["STATEMENTS"], encoding="utf-8") as lines:
    STATEMENTS = lines.read().splitlines()


def check(name, run):
    try:
        found = run()
    except Exception as error:
        found = f"{type(error).__name__} {error.args[:1]}"  # words are the gateway's
    print(json.dumps({"check": name, "found": found}, default=repr), flush=True)


def command_line(text, *arguments):
    where = ["-h", PLACE["host"], "-P", str(PLACE["port"]), "-u", PLACE["user"], f"-p{PLACE['password']}",
             f"--ssl-ca={CA}", "--default-character-set=utf8mb4", PLACE["database"]]
    done = subprocess.run([*CLIENT, *where, *arguments], input=text.encode(), capture_output=True,
                          timeout=60, check=False)
    return [done.returncode, done.stdout.decode("utf-8", "backslashreplace"),
            done.stderr.decode("utf-8", "backslashreplace")]


def run_command_line():
    for i, statement in enumerate(STATEMENTS):
        check(f"text {i}", lambda: command_line(statement, "--batch"))
    check("binary", lambda: command_line("PREPARE s FROM 'SELECT id, name FROM things WHERE id > ?'; SET @n = 0;"
                                         "EXECUTE s USING @n", "--batch"))
    check("table", lambda: command_line("SELECT * FROM things", "--table"))
    check("vertical", lambda: command_line("SELECT * FROM things\\G", "--force"))
    check("several", lambda: command_line("DELIMITER //\nSELECT 1; SELECT 2; SELECT 3//\nSELECT 4//"))
    check("large", lambda: len(command_line("SELECT REPEAT('x', 10485760)", "-N", "--max-allowed-packet=64M")[1]))
    check("xml", lambda: command_line("SELECT * FROM things", "--xml"))
    check("wrong", lambda: command_line("SELECT 1", "-pwrong")[0])


def dial(**options):
    if NAME == "MySQLdb":
        options = {"ssl": {"ca": CA}, "charset": "utf8mb4", **options}
    elif NAME == "pymysql":
        options = {"ssl": {"ca": CA}, "charset": "utf8mb4", **options}
    else:
        options = {"ssl_ca": CA, "ssl_verify_cert": True, "use_pure": NAME.endswith("pure"), **options}
    return DRIVER.connect(**{**PLACE, **options})


def ask(conn, statement, arguments=None, **options):
    cursor = conn.cursor(**options)
    try:
        cursor.execute(statement, arguments)
        rows = cursor.fetchall() if cursor.description else None
        return [rows, repr(cursor.description), cursor.rowcount, cursor.lastrowid]
    except DRIVER.Error as error:
        return error.args[0]
    finally:
        cursor.close()


def several(conn):
    flag = DRIVER_FLAGS.MULTI_STATEMENTS if NAME == "pymysql" else 1 << 16
    found = []
    with_flag = dial(client_flag=flag) if not NAME.startswith("mysql.") else conn
    cursor = with_flag.cursor()
    cursor.execute("SELECT 1; SELECT 2, 3; DO 0; SELECT 4")
    if hasattr(cursor, "nextset") and cursor.nextset is not None:
        found.append(cursor.fetchall())
        while cursor.nextset():
            found.append(cursor.fetchall() if cursor.description else None)
    return found


def parameters(conn):
    return ask(conn, "SELECT %s, %s, %s, %s, %s", (7, "naïve ☃'\\", None, b"\x00\xff", -1.5))


def transaction(conn):
    conn.begin() if hasattr(conn, "begin") else conn.start_transaction()
    ask(conn, "INSERT INTO things (id, name) VALUES (99, 'gone')")
    inside = ask(conn, "SELECT COUNT(*) FROM things")
    conn.rollback()
    return [inside, ask(conn, "SELECT COUNT(*) FROM things")]


def large(conn):
    cursor = conn.cursor()
    cursor.execute("SELECT %s, LENGTH(%s)", ("x" * 5000000, "y" * 5000000))
    row = cursor.fetchall()[0]
    return [len(row[0]), row[1]]


def number_of(conn):
    for name in ("thread_id", "connection_id"):
        if hasattr(conn, name):
            found = getattr(conn, name)
            return found() if callable(found) else found
    return None


def kill(conn):
    found = []
    thread = threading.Thread(target=lambda: found.append(ask(conn, "SELECT SLEEP(30) AS slept")))
    thread.start()
    other = dial()
    while thread.is_alive():
        thread.join(0.5)
        if thread.is_alive():
            ask(other, f"KILL QUERY {number_of(conn)}")
    found.append(ask(conn, "SELECT 'still there'"))
    return found


def many():
    found = []

    def use():
        conn = dial()
        found.extend(ask(conn, f"SELECT {i}")[0][0][0] for i in range(20))
        conn.close()
    threads = [threading.Thread(target=use) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def run_driver():
    conn = dial(autocommit=True)
    for i, statement in enumerate(STATEMENTS):
        check(f"text {i}", lambda: ask(conn, statement))
    if NAME.startswith("mysql."):
        for i, statement in enumerate(STATEMENTS):
            check(f"binary {i}", lambda: ask(conn, statement, prepared=True))
    check("parameters", lambda: parameters(conn))
    check("several", lambda: several(conn))
    check("transaction", lambda: transaction(conn))
    check("large", lambda: large(conn))
    check("kill", lambda: kill(conn))
    check("ping", lambda: conn.ping(False) if NAME == "pymysql" else conn.ping())
    check("many", many)
    check("wrong", lambda: dial(password="wrong"))
    check("database", lambda: dial(database="nowhere") and None)


if CLIENT:
    run_command_line()
else:
    DRIVER = importlib.import_module("mysql.connector" if NAME.startswith("mysql.") else NAME)
    DRIVER_FLAGS = importlib.import_module("pymysql.constants.CLIENT") if NAME == "pymysql" else None
    run_driver()
