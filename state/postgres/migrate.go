package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mcpbroker/mcpbroker/state/tables"
)

// migrations are the versions of the schema: NNNN_name.up.sql leads to version
// NNNN, and .down.sql back. The first line of the former is the oldest version
// whose brokers work with the new one: what they know must stay.
//
//go:embed migrations/*.sql
var migrations embed.FS

// Version is the schema that this broker knows.
const Version = 9

// A step is one version of the schema.
type step struct {
	version, oldest int
	up, down        string
}

func readSteps() (steps []step, err error) {
	names, err := fs.Glob(migrations, "migrations/*.up.sql")
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		s := step{}
		if s.version, err = strconv.Atoi(number); err != nil {
			return nil, err
		}
		up, upErr := migrations.ReadFile(name)
		down, downErr := migrations.ReadFile(strings.TrimSuffix(name, ".up.sql") + ".down.sql")
		if err := errors.Join(upErr, downErr); err != nil {
			return nil, err
		}
		s.up, s.down = string(up), string(down)
		first, _, _ := strings.Cut(s.up, "\n")
		if _, err := fmt.Sscanf(first, "-- oldest: %d", &s.oldest); err != nil {
			return nil, fmt.Errorf("%s: its first line is not like \"-- oldest: 1\"", name)
		}
		steps = append(steps, s)
	}
	return steps, err
}

// Migrate brings the schema of the database to Version. One that is newer stays, if
// this broker works with it. Any number of brokers may do so at once.
func (d *Database) Migrate(ctx context.Context) error {
	version, oldest, err := d.Schema(ctx)
	if err != nil || version == d.knows {
		return err
	}
	if version > d.knows {
		return newer(version, oldest, d.knows)
	}
	return d.MigrateTo(ctx, d.knows)
}

// MigrateTo migrates the schema of the database to a version, which may be older; 0
// removes it.
func (d *Database) MigrateTo(ctx context.Context, to int) error {
	steps, err := readSteps()
	if err != nil {
		return err
	}
	return d.failed("migrate", d.transaction(ctx, func(c *sql.Conn) error {
		// Everything is one transaction: a broker that is killed leaves nothing half done.
		if _, err := c.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", d.schema); err != nil {
			return err
		}
		var there bool
		if err := c.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", d.schema).Scan(&there); err != nil {
			return err
		}
		if !there {
			if _, err := c.ExecContext(ctx, "CREATE SCHEMA "+quoted(d.schema)); err != nil {
				return err
			}
		}
		if _, err := c.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, oldest BIGINT NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT now())"); err != nil {
			return err
		}
		version, _, err := schemaOf(ctx, c) // another broker may have been faster
		if err != nil {
			return err
		}
		for _, s := range steps {
			if s.version <= version || s.version > to {
				continue
			}
			if _, err := c.ExecContext(ctx, s.up); err != nil {
				return fmt.Errorf("migration to version %d: %w", s.version, err)
			}
			if s.version == 1 {
				if _, err := c.ExecContext(ctx, "INSERT INTO head (id, n, hash, base, base_hash, start, migrated) VALUES (1, 0, $1, 0, $1, 0, 0)", tables.Genesis(0, 0)); err != nil {
					return err
				}
			}
			if _, err := c.ExecContext(ctx, "INSERT INTO migrations (version, oldest) VALUES ($1, $2)", s.version, s.oldest); err != nil {
				return err
			}
		}
		for i := len(steps) - 1; i >= 0; i-- {
			s := steps[i]
			if s.version > version || s.version <= to {
				continue
			}
			if _, err := c.ExecContext(ctx, s.down); err != nil {
				return fmt.Errorf("migration back from version %d: %w", s.version, err)
			}
			if _, err := c.ExecContext(ctx, "DELETE FROM migrations WHERE version = $1", s.version); err != nil {
				return err
			}
		}
		return nil
	}))
}

// newer is an error if this broker does not work with a version of the schema.
func newer(version, oldest, known int) error {
	if oldest <= known {
		return nil
	}
	return fmt.Errorf("the database has schema %d of a newer broker (this one knows %d): update the broker", version, known)
}

// Schema returns the version of the database's schema, or 0, and the oldest version
// whose brokers work with it.
func (d *Database) Schema(ctx context.Context) (version, oldest int, err error) {
	c, err := d.db.Conn(ctx)
	if err != nil {
		return 0, 0, d.failed("open", err)
	}
	defer c.Close()
	version, oldest, err = schemaOf(ctx, c)
	if err != nil {
		return 0, 0, d.failed("read the schema of", err)
	}
	return version, oldest, nil
}

func schemaOf(ctx context.Context, c *sql.Conn) (version, oldest int, err error) {
	err = c.QueryRowContext(ctx, "SELECT coalesce(max(version), 0), coalesce(max(oldest), 0) FROM migrations").Scan(&version, &oldest)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.Code == "42P01" || e.Code == "3F000") { // no such table, or schema
		return 0, 0, nil
	}
	return version, oldest, err
}
