import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { emptyDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { spawnProgram, type SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { SHORT_LEASE } from './remote-fleet.ts'

const SERVER = join(import.meta.dirname, '../../support/programs/short-lease-program.ts')

const programs: SpawnedProgram[] = []

afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.stop()))
})

/** Servers without the role `api` can hear nobody but the agent of their own process. */
test('an embedded agent that is silent is lost, and keeps its first registration', async () => {
  const database = await emptyDatabase()
  const root = await temporaryDirectory('embedded-agents')
  await writeFile(join(root, 'secrets-key'), randomBytes(32).toString('base64'), { mode: 0o600 })
  const start = async (roles: string) => {
    const program = await spawnProgram({
      args: [SERVER, JSON.stringify(SHORT_LEASE)],
      environment: {
        REPRISE_DATABASE_URL: database.connectionString,
        REPRISE_DATA_DIR: join(root, roles),
        REPRISE_ROLES: roles,
        REPRISE_EXECUTOR: 'noop',
        REPRISE_SECRETS_KEY_FILE: join(root, 'secrets-key'),
      },
      ready: /^reprise ready (.*)$/,
    })
    programs.push(program)
    return program
  }
  const db = new pg.Client({ connectionString: database.connectionString })
  const read = async () => {
    const sql = 'SELECT status, embedded, registered_at AS "registeredAt" FROM agents'
    return (await db.query<{ status: string; embedded: boolean; registeredAt: Date }>(sql)).rows
  }
  await start('scheduler')
  const holder = await start('agent')
  await db.connect()
  const first = await eventually(async () => (await read())[0])
  expect(first).toMatchObject({ status: 'ALIVE', embedded: true })
  await holder.kill()
  programs.pop()
  await eventually(async () => (await read())[0]!.status === 'LOST')
  await start('agent')
  await eventually(async () => (await read())[0]!.status === 'ALIVE')
  expect(await read()).toEqual([first])
  await db.end()
  await Promise.all(programs.splice(0).map((program) => program.stop()))
  await database.drop()
})
