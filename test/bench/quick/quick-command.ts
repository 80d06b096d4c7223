import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readAdminToken, startServer } from '../../../src/cli/demo/server-process.ts'
import { cleanEnvironment, MAIN } from '../../support/programs/command-line.ts'
import type { Measurement } from '../bench.ts'
import type { BenchGround } from '../ground.ts'
import { compareSides } from './compare.ts'

const run = promisify(execFile)

/** A short command that asks a server, beside a Node that does nothing: what a person waits for at each command. */
export async function* quickCommand(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  await using resources = new AsyncDisposableStack()
  const { connectionString } = await ground.database()
  const dataDir = join(ground.dir, 'server')
  const server = { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api', REPRISE_LOG_LEVEL: 'warn' }
  const { url, pid, stop } = await startServer({
    dataDir,
    port: 0,
    onLog: (line) => ground.progress(line),
    env: server,
  })
  resources.defer(async () => void (await stop()))
  const env = cleanEnvironment({ REPRISE_URL: url, REPRISE_TOKEN: await readAdminToken(dataDir) })
  const times = (args: string[]) => async () => {
    for (let done = 0; done < size; done++) await run(process.execPath, args, { env, cwd: ground.dir })
    return size
  }
  yield await compareSides(ground, {
    what: '`reprise list`, beside `node -e 0`',
    unit: 'commands',
    rounds: 3,
    except: [pid],
    ours: (timed) => timed(times([MAIN, 'list'])),
    bare: (timed) => timed(times(['-e', '0'])),
  })
}
