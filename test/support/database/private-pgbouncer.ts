import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram } from '../distribution.ts'
import { eventually } from '../eventually.ts'
import { fixedPort } from '../agents/fixed-port.ts'
import { isListening } from '../servers/is-listening.ts'

/** The user `nobody`: PgBouncer refuses to run as root. */
const NOBODY = 65_534

/** A PgBouncer in front of this database, for one test; few connections, so that clients take turns. */
export async function privatePgbouncer(options: {
  directory: string
  connectionString: string
  mode: 'session' | 'transaction'
  connectionsMax: number
}): Promise<AsyncDisposable & { url: string }> {
  const { directory, mode, connectionsMax } = options
  const to = new URL(options.connectionString)
  const port = await fixedPort()
  const user = decodeURIComponent(to.username)
  const password = decodeURIComponent(to.password)
  const config = [
    '[databases]',
    `pooled = host=127.0.0.1 port=${to.port} dbname=${to.pathname.slice(1)} user=${user} password=${password}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1`,
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    `default_pool_size = ${connectionsMax}`,
    'max_client_conn = 200',
    `logfile = ${join(directory, 'pgbouncer.log')}`,
  ]
  await mkdir(directory, { recursive: true })
  const file = join(directory, 'pgbouncer.ini')
  await writeFile(file, `${config.join('\n')}\n`)
  const root = process.getuid?.() === 0
  if (root) await chown(directory, NOBODY, NOBODY)
  const identity = root ? { uid: NOBODY, gid: NOBODY } : {}
  const child = spawn(findProgram('pgbouncer')!, ['-q', file], { cwd: '/', stdio: 'ignore', ...identity })
  const ended = once(child, 'exit')
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(await readFile(join(directory, 'pgbouncer.log'), 'utf8'))
    return isListening(port)
  })
  return {
    url: `postgresql://${user}@127.0.0.1:${port}/pooled?sslmode=disable`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
