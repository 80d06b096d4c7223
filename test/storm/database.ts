import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { openDatabase } from '../../src/store/database.ts'
import { openCluster } from '../../src/store/postgres/cluster.ts'
import { migrate } from '../../src/store/postgres/migrate.ts'
import { isPostgres } from '../../src/store/postgres/run-as.ts'
import { EMBEDDED_SETTINGS } from '../../src/store/postgres/binaries.ts'
import { KEEP_CLOCK } from '../support/database/test-clock.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { eventually } from '../support/eventually.ts'

const NAME = 'reprise'

/**
 * Lets the clock be moved, and keeps what is removed for the judge: each row, with the database's time and the number of
 * the transaction.
 */
export const KEEP_CLOCK_AND_REMOVED = `CREATE SCHEMA seeds;
${KEEP_CLOCK};
CREATE TABLE seeds.removed (source text NOT NULL, at timestamptz NOT NULL, xid xid8 NOT NULL, data jsonb NOT NULL);
CREATE FUNCTION seeds.keep_removed() RETURNS trigger LANGUAGE plpgsql AS $do$
BEGIN
  INSERT INTO seeds.removed VALUES (TG_TABLE_NAME, reprise_now(), pg_current_xact_id(), to_jsonb(OLD));
  RETURN NULL;
END $do$;
${['sessions', 'kernels', 'retry_decisions', 'session_events'].map((table) => `CREATE TRIGGER keep_removed AFTER DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION seeds.keep_removed();`).join('\n')}`

/** A PostgreSQL on a port of its own, which can be stopped, killed and started again. */
export interface StormDatabase {
  /** As superuser. */
  url: string
  stop(): Promise<void>
  /** The postmaster dies as by the system's OOM killer; its children notice, and end. */
  kill(): Promise<void>
  /** Unless it runs. */
  start(): Promise<void>
}

/** Makes it in `directory`, with a database that is migrated, and starts it. */
export async function startStormDatabase(directory: string): Promise<StormDatabase> {
  const { dataDirectory, logFile, password, binaries, runAs } = await openCluster(directory)
  const port = await fixedPort()
  const settings = {
    ...EMBEDDED_SETTINGS,
    // Lines to it can be disturbed.
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port: String(port),
    // It is killed, but the machine is not: everything that is written survives.
    fsync: 'off',
  }
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  const pidFile = join(dataDirectory, 'postmaster.pid')
  const pidOf = async () => Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10)
  const control = (...args: string[]) =>
    runAs.run(binaries.pg_ctl, [...args, '-D', dataDirectory, '-w', '-s'], { cwd: directory })
  const urlOf = (name: string) => `postgresql://reprise:${password}@127.0.0.1:${port}/${name}?sslmode=disable`

  async function start(): Promise<void> {
    if (await isPostgres(await pidOf())) return
    await rm(pidFile, { force: true })
    // What a killed postmaster has left may still hold its shared memory for a moment.
    await eventually(() =>
      control('start', '-l', logFile, '-o', options.join(' ')).then(
        () => true,
        () => false,
      ),
    )
  }

  await start()
  await makeDatabase(urlOf('postgres'), urlOf(NAME))
  return {
    url: urlOf(NAME),
    start,
    async stop() {
      if (await isPostgres(await pidOf())) await control('stop', '-m', 'fast')
    },
    async kill() {
      const pid = await pidOf()
      if (await isPostgres(pid)) process.kill(pid, 'SIGKILL')
      await eventually(async () => !(await isPostgres(pid)))
    },
  }
}

async function makeDatabase(adminUrl: string, url: string): Promise<void> {
  const admin = openDatabase({ connectionString: adminUrl, connectionsMax: 1, onError: () => {} })
  await admin.query(`CREATE DATABASE ${NAME}`)
  await admin.close()
  await migrate(url, pino({ enabled: false }))
}
