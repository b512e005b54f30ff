// SPDX-License-Identifier: MIT

// What go-sql-driver does: a line of JSON for each check of README.md.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

var ctx = context.Background()

func check(name string, run func() (any, error)) {
	found, err := run()
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		found = refused.Number
	} else if err != nil {
		found = err.Error()
	}
	line, err := json.Marshal(map[string]any{"check": name, "found": found})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func dial(change func(*mysql.Config)) *sql.DB {
	config := mysql.NewConfig()
	config.User = os.Getenv("DB_USER")
	config.Passwd = os.Getenv("DB_PASSWORD")
	config.Net = "tcp"
	config.Addr = os.Getenv("DB_HOST") + ":" + os.Getenv("DB_PORT")
	config.DBName = os.Getenv("DB_NAME")
	config.TLSConfig = "own"
	config.MaxAllowedPacket = 64 << 20
	if change != nil {
		change(config)
	}
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		panic(err)
	}
	return db
}

func all(rows *sql.Rows) (any, error) {
	defer rows.Close()
	found := [][]string{}
	for {
		types, err := rows.ColumnTypes()
		if err != nil {
			return nil, err
		}
		head := []string{}
		for _, kind := range types {
			nullable, _ := kind.Nullable()
			head = append(head, fmt.Sprint(kind.Name(), kind.DatabaseTypeName(), nullable))
		}
		found = append(found, head)
		for rows.Next() {
			values := make([]any, len(types))
			places := make([]any, len(types))
			for i := range values {
				places[i] = &values[i]
			}
			if err := rows.Scan(places...); err != nil {
				return nil, err
			}
			row := []string{}
			for _, value := range values {
				row = append(row, fmt.Sprintf("%T %v", value, value))
			}
			found = append(found, row)
		}
		if !rows.NextResultSet() {
			return found, rows.Err()
		}
	}
}

func text(conn *sql.Conn, statement string) (any, error) {
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	return all(rows)
}

func binary(conn *sql.Conn, statement string, values ...any) (any, error) {
	prepared, err := conn.PrepareContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	rows, err := prepared.QueryContext(ctx, values...)
	if err != nil {
		return nil, err
	}
	return all(rows)
}

func transaction(conn *sql.Conn) (any, error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec("INSERT INTO things (id, name) VALUES (99, 'gone')"); err != nil {
		return nil, err
	}
	if err := tx.Rollback(); err != nil {
		return nil, err
	}
	return text(conn, "SELECT COUNT(*) FROM things")
}

func large(conn *sql.Conn) (any, error) {
	value := strings.Repeat("x", 10000000)
	var back string
	var size int
	err := conn.QueryRowContext(ctx, "SELECT ?, LENGTH(?)", value, value).Scan(&back, &size)
	return []int{len(back), size}, err
}

func kill(db *sql.DB, conn *sql.Conn) (any, error) {
	var number int
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&number); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	var found any
	var err error
	go func() {
		found, err = text(conn, "SELECT SLEEP(30) AS slept")
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return found, err
		case <-time.After(500 * time.Millisecond):
			_, _ = db.Exec(fmt.Sprintf("KILL QUERY %d", number))
		}
	}
}

func many(db *sql.DB) (any, error) {
	found := make([]int, 200)
	var wait sync.WaitGroup
	db.SetMaxOpenConns(10)
	for i := range found {
		wait.Add(1)
		go func() {
			defer wait.Done()
			_ = db.QueryRow(fmt.Sprintf("SELECT %d", i)).Scan(&found[i])
		}()
	}
	wait.Wait()
	sort.Ints(found)
	return found, nil
}

func main() {
	pem, err := os.ReadFile(os.Getenv("DB_CA"))
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	if err := mysql.RegisterTLSConfig("own", &tls.Config{RootCAs: pool, ServerName: "localhost"}); err != nil {
		panic(err)
	}
	lines, err := os.ReadFile(os.Getenv("STATEMENTS"))
	if err != nil {
		panic(err)
	}
	db := dial(nil)
	conn, err := db.Conn(ctx)
	if err != nil {
		panic(err)
	}
	statements := strings.Split(strings.TrimSpace(string(lines)), "\n")
	for i, statement := range statements {
		check(fmt.Sprintf("text %d", i), func() (any, error) { return text(conn, statement) })
	}
	for i, statement := range statements {
		check(fmt.Sprintf("binary %d", i), func() (any, error) { return binary(conn, statement) })
	}
	check("parameters", func() (any, error) {
		return binary(conn, "SELECT ?, ?, ?, ?", 7, "naïve ☃'\\", nil, []byte{0, 255})
	})
	check("several", func() (any, error) {
		several := dial(func(config *mysql.Config) { config.MultiStatements = true })
		defer several.Close()
		rows, err := several.Query("SELECT 1; SELECT 2, 3; SELECT 4")
		if err != nil {
			return nil, err
		}
		return all(rows)
	})
	check("transaction", func() (any, error) { return transaction(conn) })
	check("large", func() (any, error) { return large(conn) })
	check("kill", func() (any, error) { return kill(db, conn) })
	check("ping", func() (any, error) { return nil, conn.PingContext(ctx) })
	check("many", func() (any, error) { return many(db) })
	check("wrong", func() (any, error) {
		return nil, dial(func(config *mysql.Config) { config.Passwd = "wrong" }).Ping()
	})
	check("database", func() (any, error) {
		return nil, dial(func(config *mysql.Config) { config.DBName = "nowhere" }).Ping()
	})
}
