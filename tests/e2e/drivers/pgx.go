// SPDX-License-Identifier: MIT

// What pgx does: a line of JSON for each check of README.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	ctx     = context.Background()
	channel = os.Getenv("CHANNEL")
	notices []string
)

func say(name string, run func() (any, error)) {
	found, err := run()
	line := map[string]any{"check": name, "ok": err == nil, "detail": found}
	if err != nil {
		line["detail"] = err.Error()
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func same(found, wanted any) (any, error) {
	if !reflect.DeepEqual(found, wanted) {
		return nil, fmt.Errorf("%v is not %v", found, wanted)
	}
	return found, nil
}

func words(values ...any) string {
	return strings.TrimSpace(fmt.Sprintln(values...))
}

func dial(options string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig("sslmode=verify-full connect_timeout=20 " + options)
	if err != nil {
		return nil, err
	}
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		notices = append(notices, notice.Severity+" "+notice.Message)
	}
	return pgx.ConnectConfig(ctx, config)
}

func state(err error) string {
	var known *pgconn.PgError
	if errors.As(err, &known) {
		return known.Code
	}
	return fmt.Sprint(err)
}

func execute(conn *pgx.Conn, query string, values ...any) string {
	_, err := conn.Exec(ctx, query, values...)
	return state(err)
}

func value[T any](conn *pgx.Conn, query string, values ...any) (found T, err error) {
	err = conn.QueryRow(ctx, query, values...).Scan(&found)
	return
}

func connect() (any, error) {
	conn, err := dial("sslmode=disable")
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	found, err := value[string](conn, "SHOW server_version_num")
	if err != nil {
		return nil, err
	}
	if _, err := same(found, os.Getenv("SERVER_VERSION")); err != nil {
		return nil, err
	}
	return found + " " + conn.PgConn().ParameterStatus("TimeZone"), nil
}

func encrypted(options string) (any, error) {
	conn, err := dial(options)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	return value[int](conn, "SELECT 1")
}

func simple(conn *pgx.Conn) (any, error) {
	results, err := conn.PgConn().Exec(ctx, "SELECT 1; SELECT 2").ReadAll()
	if err != nil {
		return nil, err
	}
	text, err := value[string](conn, "SELECT $1::text", pgx.QueryExecModeSimpleProtocol, "a'b")
	if err != nil {
		return nil, err
	}
	return same(words(len(results), text), "2 a'b")
}

func parameters(conn *pgx.Conn, format int16) (any, error) {
	found := []string{}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec} {
		var number int64
		var text string
		var float float64
		var raw []byte
		err := conn.QueryRow(ctx, "SELECT $1::int8, $2::text, $3::float8, $4::bytea", mode,
			pgx.QueryResultFormats{format}, int64(7), "é", 1.5, []byte{0, 255}).
			Scan(&number, &text, &float, &raw)
		if err != nil {
			return nil, err
		}
		found = append(found, words(number, text, float, raw))
	}
	one := "7 é 1.5 [0 255]"
	return same(words(found), words([]string{one, one, one, one}))
}

func pipeline(conn *pgx.Conn) (any, error) {
	batch, total := &pgx.Batch{}, 0
	for i := 0; i < 50; i++ {
		batch.Queue("SELECT $1::int", i).QueryRow(func(row pgx.Row) error {
			var found int
			err := row.Scan(&found)
			total += found
			return err
		})
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	wrong := &pgx.Batch{}
	wrong.Queue("SELECT 1")
	wrong.Queue("SELECT 1 / $1::int", 0)
	wrong.Queue("SELECT 2")
	failure := state(conn.SendBatch(ctx, wrong).Close())
	return same(words(total, failure), "1225 22012")
}

func transaction(conn *pgx.Conn) (any, error) {
	execute(conn, "CREATE TEMP TABLE rolled (id int)")
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	states := []string{execute(conn, "INSERT INTO rolled VALUES (1)"),
		execute(conn, "SELECT 1/0"), execute(conn, "SELECT 1"),
		string(conn.PgConn().TxStatus())}
	if err := tx.Rollback(ctx); err != nil {
		return nil, err
	}
	count, err := value[int](conn, "SELECT count(*) FROM rolled")
	if err != nil {
		return nil, err
	}
	return same(words(states, count), "[<nil> 22012 25P02 E] 0")
}

func copied(conn *pgx.Conn) (any, error) {
	execute(conn, "CREATE TEMP TABLE copied (id int, name text)")
	count, err := conn.CopyFrom(ctx, pgx.Identifier{"copied"}, []string{"id", "name"},
		pgx.CopyFromSlice(1000, func(i int) ([]any, error) {
			return []any{i, fmt.Sprint("é", i)}, nil
		}))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := conn.PgConn().CopyTo(ctx, &out, "COPY copied TO STDOUT"); err != nil {
		return nil, err
	}
	_, wrong := conn.PgConn().CopyFrom(ctx, strings.NewReader("no number\tx\n"),
		"COPY copied FROM STDIN")
	sum, err := value[int](conn, "SELECT sum(id) FROM copied")
	if err != nil {
		return nil, err
	}
	return same(words(count, strings.Count(out.String(), "é"), state(wrong), sum),
		"1000 1000 22P02 499500")
}

func cursor(conn *pgx.Conn) (any, error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	execute(conn, "DECLARE many CURSOR FOR SELECT generate_series(1, 1000)")
	total := 0
	for {
		rows, _ := conn.Query(ctx, "FETCH 100 FROM many")
		found, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			total += one
		}
		if len(found) == 0 {
			return same(total, 500500)
		}
	}
}

func large(conn *pgx.Conn) (any, error) {
	sent := strings.Repeat("x", 10485760)
	found, err := value[string](conn, "SELECT $1::text || 'y'", sent)
	if err != nil {
		return nil, err
	}
	return same(words(found == sent+"y", len(found)), "true 10485761")
}

func values(conn *pgx.Conn) (any, error) {
	var nothing *string
	var numbers []*int
	var document map[string]any
	var moment time.Time
	var text string
	one, three := 1, 3
	err := conn.QueryRow(ctx, "SELECT $1::text, $2::int[], $3::jsonb, $4::timestamptz, $5::text",
		nil, []*int{&one, nil, &three}, map[string]any{"a": []any{1, "é"}},
		time.Date(2024, 2, 29, 10, 34, 56, 789e6, time.UTC), "žluťoučký 🐎").
		Scan(&nothing, &numbers, &document, &moment, &text)
	if err != nil {
		return nil, err
	}
	return same(words(nothing == nil, *numbers[0], numbers[1] == nil, *numbers[2], document,
		moment.UTC().Format(time.RFC3339Nano), text),
		"true 1 true 3 map[a:[1 é]] 2024-02-29T10:34:56.789Z žluťoučký 🐎")
}

func notify(conn *pgx.Conn) (any, error) {
	execute(conn, "LISTEN "+channel)
	other, err := dial("")
	if err != nil {
		return nil, err
	}
	execute(other, "SELECT pg_notify($1, 'été')", channel)
	other.Close(ctx)
	limited, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	heard, err := conn.WaitForNotification(limited)
	if err != nil {
		return nil, err
	}
	execute(conn, "UNLISTEN *")
	return same(heard.Payload, "été")
}

func cancel(conn *pgx.Conn) (any, error) {
	time.AfterFunc(300*time.Millisecond, func() { _ = conn.PgConn().CancelRequest(ctx) })
	found := execute(conn, "SELECT pg_sleep(30)")
	after, err := value[int](conn, "SELECT 1")
	if err != nil {
		return nil, err
	}
	return same(words(found, after), "57014 1")
}

func notice(conn *pgx.Conn) (any, error) {
	notices = nil
	execute(conn, "DO $$ BEGIN RAISE NOTICE 'über'; END $$")
	return same(notices, []string{"NOTICE über"})
}

func pool() (any, error) {
	many, err := pgxpool.New(ctx, "sslmode=verify-full pool_min_conns=10 pool_max_conns=10")
	if err != nil {
		return nil, err
	}
	defer many.Close()
	var done sync.WaitGroup
	sums, failures := make([]int, 10), make([]error, 10)
	for client := range sums {
		done.Add(1)
		go func() {
			defer done.Done()
			for i := 0; i < 20; i++ {
				var found int
				err := many.QueryRow(ctx, "SELECT $1::int", i).Scan(&found)
				failures[client] = errors.Join(failures[client], err)
				sums[client] += found
			}
		}()
	}
	done.Wait()
	total := 0
	for _, sum := range sums {
		total += sum
	}
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	return same(total, 1900)
}

func reconnect() (any, error) {
	one, err := pgxpool.New(ctx, "sslmode=verify-full pool_max_conns=1")
	if err != nil {
		return nil, err
	}
	defer one.Close()
	_, killed := one.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
	var again int
	if err := one.QueryRow(ctx, "SELECT 1").Scan(&again); err != nil {
		return nil, err
	}
	return same(words(state(killed), again), "57P01 1")
}

func main() {
	say("connect", connect)
	say("tls", func() (any, error) { return encrypted("") })
	say("channel-binding", func() (any, error) { return encrypted("channel_binding=require") })
	conn, err := dial("")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer conn.Close(ctx)
	say("simple", func() (any, error) { return simple(conn) })
	say("text", func() (any, error) { return parameters(conn, pgx.TextFormatCode) })
	say("binary", func() (any, error) { return parameters(conn, pgx.BinaryFormatCode) })
	for _, one := range []struct {
		name string
		run  func(*pgx.Conn) (any, error)
	}{{"pipeline", pipeline}, {"transaction", transaction}, {"copy", copied}, {"cursor", cursor},
		{"large", large}, {"values", values}, {"notify", notify}, {"cancel", cancel},
		{"notice", notice}} {
		say(one.name, func() (any, error) { return one.run(conn) })
	}
	say("pool", pool)
	say("reconnect", reconnect)
}
