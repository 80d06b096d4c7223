/** The relay of kernel logs to many followers: one statement for all of them. */
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogRelay, followKernelLogs } from '../../../src/events/kernel-logs.ts'
import { createTopics } from '../../../src/events/wake-hub.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { startGraphQLServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { recordStatements } from '../../support/database/record-statements.ts'

const FOLLOWERS = 50

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  await database.fresh()
})
afterAll(() => database.close())

test('followers that have nothing to read cost one statement together, and hear of what comes and ends', async () => {
  const { db } = database
  const factory = createFactories(db)
  const topics = createTopics()
  const relay = createLogRelay({ db, topics, log: pino({ enabled: false }) })
  const closing = new AbortController()
  const heard = new Map<string, string[]>()
  const ended = new Set<string>()
  const kernels: string[] = []
  for (let n = 0; n < FOLLOWERS; n++) {
    const { kernelIds } = await factory.session({ status: 'RUNNING' })
    kernels.push(kernelIds[0]!)
  }
  const follow = async (kernelId: string) => {
    heard.set(kernelId, [])
    for await (const chunks of followKernelLogs({ db, topics, relay, kernelId, after: '0', closing: closing.signal }))
      heard.get(kernelId)!.push(...chunks.map(({ text }) => text))
    ended.add(kernelId)
  }
  const following = kernels.map(follow)
  const [first, second] = [kernels[0]!, kernels[1]!]
  // Nobody signals: another server has received it.
  await factory.log(first, 'one\n')
  await eventually(() => heard.get(first)!.length === 1)

  // The relay's first look has woken all of them once; from then on those that have nothing to read do not look.
  let lines = 1
  await eventually(async () => {
    const { statements } = await recordStatements(async () => {
      for (let n = 0; n < 2; n++) {
        await factory.log(first, `${++lines}\n`)
        await eventually(() => heard.get(first)!.length === lines)
      }
    })
    return statements.filter((text) => !text.includes('unnest')).length < FOLLOWERS
  })

  const end = `UPDATE kernels SET status = 'TERMINATED', slots_held = false, confirmed_gone = true WHERE id = $1`
  await factory.log(second, 'last\n')
  await db.query(end, [second])
  await eventually(() => ended.has(second))
  expect(heard.get(second)).toEqual(['last\n'])
  closing.abort()
  await Promise.all(following)
  const after = await recordStatements(() => eventually(() => ended.size === FOLLOWERS))
  expect(after.statements).toEqual([])
  await relay.stop()
})

test('whoever it began with, the others hear of what comes when that one has left', async () => {
  const server = await startGraphQLServer()
  const [first, second] = [connect(server.url, server.adminToken), connect(server.url, server.adminToken)]
  const follow = async (connection: typeof first) => {
    const { kernelIds } = await server.factory.session({ status: 'RUNNING' })
    const logs = connection.subscribe('subscription ($id: UUID!) { kernelLogs(kernelId: $id) { text } }', {
      id: kernelIds[0]!,
    })
    await server.factory.log(kernelIds[0]!, 'one\n')
    await logs.take(1)
    return { kernelId: kernelIds[0]!, logs }
  }
  try {
    await follow(first)
    const { kernelId, logs } = await follow(second)
    await first.close()
    await server.factory.log(kernelId, 'two\n')
    expect(await logs.take(1)).toEqual([{ kernelLogs: { text: 'two\n' } }])
  } finally {
    await second.close()
    await server.close()
  }
})
