import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { createClient } from '../../src/client/node/index.ts'
import { encodeCursor } from '../../src/domain/events.ts'
import { testDatabase } from '../support/database/database.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { forEachSeed, randomOf } from '../support/seeds.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { pause } from '../support/eventually.ts'

const RESTARTS = 20

test(`a consumer sees each event once, in order, over ${RESTARTS} restarts of the server, and nothing is created twice`, () =>
  forEachSeed(async (seed) => {
    const random = randomOf(seed)
    const database = await testDatabase()
    const dataDir = join(await temporaryDirectory('restarts'), 'data')
    const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_ROLES: 'api' }
    let server = await startServer({ dataDir, port: await fixedPort(), onLog: () => {}, env })
    const { url } = server
    await using client = createClient({
      url,
      token: await readAdminToken(dataDir),
      retry: {
        network: { minSeconds: 0.05, maxSeconds: 0.05, stopAfterSeconds: null },
        reconnect: { maxSeconds: 0.5 },
      },
    })
    const events = client.sessionEvents({ types: ['CREATED'] }, { after: await client.eventCursor() })
    const seen: string[] = []
    const next = events.next()
    const enough = new AbortController()
    let created = 0

    async function createOnAndOn(): Promise<void> {
      while (!enough.signal.aborted) {
        await client.createSession({ name: `session ${created}`, command: ['true'] })
        created++
      }
    }
    async function consume(): Promise<void> {
      seen.push((await next).value.cursor)
      for await (const { cursor } of events) seen.push(cursor)
    }

    const consuming = consume()
    const creating = createOnAndOn()
    for (let restart = 0; restart < RESTARTS; restart++) {
      const before = created
      await expect.poll(() => created, { timeout: 120_000, interval: 10 }).toBeGreaterThan(before + 1)
      await pause(random.below(100))
      if (restart % 2 === 0) await server.kill()
      else expect(await server.stop()).toBe(0)
      server = await startServer({ dataDir, port: Number(new URL(url).port), onLog: () => {}, env })
    }
    enough.abort()
    await creating
    const { rows } = await database.db.query<{ xid: string; id: string }>(
      `SELECT xid::text, id::text FROM session_events WHERE type = 'session.created' ORDER BY session_events.xid, session_events.id`,
    )
    const all = rows.map(({ xid, id }) => encodeCursor({ xid: BigInt(xid), id: BigInt(id) }))
    await expect.poll(() => seen.length, { timeout: 120_000 }).toBeGreaterThanOrEqual(all.length)
    await events.return!()
    await consuming
    expect(seen).toEqual(all)
    expect(all.length).toBe(created)
    expect(created).toBeGreaterThan(RESTARTS)
    expect(await server.stop()).toBe(0)
    await database.close()
  }))
