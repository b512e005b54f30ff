module gatehouse/tests/mysqldrivers

go 1.24.0

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/go-sql-driver/mysql v1.10.1
)
