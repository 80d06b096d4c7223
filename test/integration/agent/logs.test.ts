/** Logs of kernels: reads from either end, joined or by bytes, and their measured size. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { joinChunks, type LogText } from '../../../src/domain/agent/kernel-logs.ts'
import { LOG_CHUNK_BYTES_MAX, LOG_HEAD_BYTES_PER_STREAM_MAX } from '../../../src/domain/limits.ts'
import { createLogTextIndex, type LogTextOf, readLogText } from '../../../src/services/agent/kernel-logs.ts'
import type { Database, Queryable } from '../../../src/store/database.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { analysedPlanOf, rowsRead } from '../../support/database/plans.ts'
import { recordedDatabase } from '../../support/database/recorded-database.ts'
import { eventually } from '../../support/eventually.ts'
import { checkProperty } from '../../support/seeds.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { createFactories } from '../../support/sessions/factories.ts'

describe('reading logs', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer()
  })
  afterAll(() => server?.close())

  type Piece = { stream: 'STDOUT' | 'STDERR'; text: string }

  /** A running kernel that has written these pieces, one after the other. */
  async function kernelWith(pieces: readonly Piece[], projectId?: string): Promise<string> {
    const { kernelIds } = await server.factory.session({ status: 'RUNNING', ...(projectId && { projectId }) })
    const ends = { STDOUT: 0, STDERR: 0 }
    const rows = pieces.map(({ stream, text }) => {
      const bytes = Buffer.byteLength(text)
      ends[stream] += bytes
      return {
        kernel_id: kernelIds[0]!,
        assignment: 1,
        stream,
        offset: ends[stream] - bytes,
        bytes,
        text,
        at: new Date(),
      }
    })
    for (let from = 0; from < rows.length; from += 1_000)
      await insertRows(server.db, 'kernel_logs', rows.slice(from, from + 1_000))
    return kernelIds[0]!
  }

  const out = (text: string): Piece => ({ stream: 'STDOUT', text })

  const LOGS = `query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) { node(id: $id) { ... on Kernel {
  logBytes logTruncated logs(first: $first, after: $after, last: $last, before: $before) {
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { cursor node { cursor stream offset text } } } } } }`

  async function read(kernelId: string, page: object) {
    const id = Buffer.from(`Kernel:${kernelId}`).toString('base64')
    const { data, errors } = await server.query(LOGS, { id, ...page })
    expect(errors ?? []).toEqual([])
    const { logs, ...sizes } = data.node
    return { ...sizes, ...logs.pageInfo, chunks: logs.edges.map(({ node }: any) => node) }
  }

  const textOf = (chunks: { text: string }[]) => chunks.map(({ text }) => text).join('')

  describe('GraphQL', () => {
    test('joins the output line by line, and reads its end without the beginning', async () => {
      const lines = Array.from({ length: 5_000 }, (_, n) => out(`line ${n} of a program that goes on and on\n`))
      const kernelId = await kernelWith(lines)
      const whole = textOf(lines)
      const all = await read(kernelId, { first: 100 })
      expect(textOf(all.chunks)).toBe(whole)
      expect(all.chunks.length).toBe(Math.ceil(whole.length / LOG_CHUNK_BYTES_MAX))
      expect(all).toMatchObject({
        hasNextPage: false,
        hasPreviousPage: false,
        logBytes: whole.length,
        logTruncated: false,
      })
      for (const { offset, text } of all.chunks) expect(whole.slice(offset, offset + text.length)).toBe(text)
      const tail = await read(kernelId, { last: 1 })
      expect(tail).toMatchObject({ hasPreviousPage: true, hasNextPage: false })
      const [{ offset, text }] = tail.chunks
      expect(whole.slice(offset)).toBe(text)
      expect(text.length).toBeGreaterThan(LOG_CHUNK_BYTES_MAX - 100)
    })

    test('walks from either end meet each byte once, in whatever pages', async () => {
      const piece = fc.record({
        stream: fc.constantFrom('STDOUT' as const, 'STDOUT' as const, 'STDERR' as const),
        text: fc.string({ minLength: 1, maxLength: 30, unit: fc.constantFrom('a', 'é', '\n', '界') }),
      })
      await checkProperty(
        fc.asyncProperty(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 5 }), async (pieces, size) => {
          const kernelId = await kernelWith(pieces)
          const walk = async (backward: boolean) => {
            const chunks: { stream: string; text: string }[] = []
            for (let cursor: string | null = null; ;) {
              const page: any = await read(
                kernelId,
                backward ? { last: size, before: cursor } : { first: size, after: cursor },
              )
              if (backward) chunks.unshift(...page.chunks)
              else chunks.push(...page.chunks)
              if (!(backward ? page.hasPreviousPage : page.hasNextPage)) return chunks
              expect(page.chunks).not.toEqual([])
              cursor = backward ? page.startCursor : page.endCursor
            }
          }
          for (const backward of [false, true]) {
            const chunks = await walk(backward)
            for (const stream of ['STDOUT', 'STDERR']) {
              const of = <Each extends { stream: string }>(some: Each[]) =>
                some.filter((each) => each.stream === stream)
              expect(textOf(of(chunks))).toBe(textOf(of(pieces)))
            }
            expect(textOf(chunks)).toBe(textOf(pieces))
          }
        }),
        { numRuns: 15 },
      )
    })

    test('reports omitted output', async () => {
      const kernelId = await kernelWith([out('begin')])
      expect((await read(kernelId, { first: 1 })).logTruncated).toBe(false)
      const note = '\n[reprise: 9 bytes of output are left out here]\n'
      await insertRows(server.db, 'kernel_logs', [
        {
          kernel_id: kernelId,
          assignment: 1,
          stream: 'STDOUT',
          offset: LOG_HEAD_BYTES_PER_STREAM_MAX,
          bytes: 1,
          text: note,
          at: new Date(),
        },
      ])
      expect(await read(kernelId, { last: 1 })).toMatchObject({
        logTruncated: true,
        logBytes: LOG_HEAD_BYTES_PER_STREAM_MAX + 1,
        chunks: [{ text: note }],
      })
    })
  })

  test('pieces are joined up to the limit, of one stream, where nothing is between', () => {
    const piece = fc.record({
      stream: fc.constantFrom('STDOUT' as const, 'STDERR' as const),
      bytes: fc.integer({ min: 1, max: 40_000 }),
      gap: fc.nat(1),
    })
    checkProperty(
      fc.property(fc.array(piece), fc.constantFrom('front' as const, 'back' as const), (given, from) => {
        const ends = { STDOUT: 0, STDERR: 0 }
        const pieces: LogText[] = given.map(({ stream, bytes, gap }, n) => {
          const offset = ends[stream] + gap
          ends[stream] = offset + bytes
          return { firstId: `${n}`, id: `${n}`, assignment: 1, stream, offset, bytes, text: `${n},`, at: new Date(0) }
        })
        const joined = joinChunks(pieces, from)
        expect(textOf(joined)).toBe(textOf(pieces))
        for (const { firstId, id, bytes, offset } of joined) {
          const within = pieces.slice(Number(firstId), Number(id) + 1)
          expect(bytes).toBe(within.reduce((sum, each) => sum + each.bytes, 0))
          expect(within.at(-1)!.offset + within.at(-1)!.bytes).toBe(offset + bytes)
          expect(new Set(within.map(({ stream }) => stream)).size).toBe(1)
          expect(within.length === 1 || bytes <= LOG_CHUNK_BYTES_MAX).toBe(true)
        }
      }),
    )
  })

  describe('GET /v2/kernels/{id}/log', () => {
    const get = (kernelId: string, query = '', headers: Record<string, string> = {}, token = server.adminToken) =>
      fetch(`${server.url}/v2/kernels/${kernelId}/log${query}`, {
        headers: { authorization: `Bearer ${token}`, ...headers },
      })

    test('is the text, to be saved and not shown', async () => {
      const kernelId = await kernelWith([out('<b>héllo</b>\n'), { stream: 'STDERR', text: 'oh\n' }, out('bye\n')])
      const response = await get(kernelId)
      expect(response.status).toBe(200)
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'content-disposition': expect.stringMatching(/^attachment; filename="[\w.-]+-attempt-1\.log"$/),
        'x-content-type-options': 'nosniff',
        'accept-ranges': 'bytes',
        'content-length': '21',
      })
      expect(await response.text()).toBe('<b>héllo</b>\noh\nbye\n')
      expect(await (await get(kernelId, '?stream=stderr')).text()).toBe('oh\n')
      const etag = response.headers.get('etag')!
      expect((await get(kernelId, '', { 'if-none-match': etag })).status).toBe(304)
      expect((await get(kernelId, '', { range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200)
      expect((await get(kernelId, '', { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206)
      expect((await get(kernelId, '?stream=both')).status).toBe(422)
    })

    test('all attempts of a chain are one text, with a line before each', async () => {
      const kernelId = await kernelWith([out('first\nno break'), { stream: 'STDERR', text: 'x' }])
      const { chainId, name } = (
        await server.db.query(
          `SELECT s.chain_id AS "chainId", s.name FROM kernels k JOIN sessions s ON s.id = k.session_id WHERE k.id = $1`,
          [kernelId],
        )
      ).rows[0] as { chainId: string; name: string }
      const ofChain = (token: string) =>
        fetch(`${server.url}/v2/chains/${chainId}/log`, { headers: { authorization: `Bearer ${token}` } })
      const response = await ofChain(server.adminToken)
      expect(response.headers.get('content-disposition')).toBe(
        `attachment; filename="${name.replaceAll(' ', '-')}-all-attempts.log"`,
      )
      expect(await response.text()).toMatch(new RegExp(`^──── ${name}, attempt 1: .+ ────\\nfirst\\nno breakx\\n$`))
      const stranger = await server.factory.token({ role: 'VIEWER', projectId: await server.factory.project('apart') })
      expect((await ofChain(stranger)).status).toBe(404)
    })

    test('any range of bytes is that part of it', async () => {
      const pieces = Array.from({ length: 3_000 }, (_, n) => out(`${n} ✓ ${'x'.repeat(n % 90)}\n`))
      const kernelId = await kernelWith(pieces)
      const whole = Buffer.from(textOf(pieces))
      expect(Buffer.from(await (await get(kernelId)).arrayBuffer()).equals(whole)).toBe(true)
      await checkProperty(
        fc.asyncProperty(fc.nat(whole.length + 10), fc.option(fc.nat(whole.length + 10)), async (first, last) => {
          if (last !== null && last < first) return
          const response = await get(kernelId, '', { range: `bytes=${first}-${last ?? ''}` })
          if (first >= whole.length) {
            expect([response.status, response.headers.get('content-range')]).toEqual([416, `bytes */${whole.length}`])
            return
          }
          const part = whole.subarray(first, (last ?? whole.length) + 1)
          expect([response.status, response.headers.get('content-range')]).toEqual([
            206,
            `bytes ${first}-${first + part.length - 1}/${whole.length}`,
          ])
          expect(Buffer.from(await response.arrayBuffer()).equals(part)).toBe(true)
        }),
        { numRuns: 30 },
      )
      const end = await get(kernelId, '', { range: 'bytes=-1000' })
      expect(Buffer.from(await end.arrayBuffer()).equals(whole.subarray(-1_000))).toBe(true)
      for (const range of ['bytes=5-2', 'bytes=0-1,5-6', 'lines=1-2', 'bytes=-'])
        expect((await get(kernelId, '', { range })).status).toBe(200)
    })

    test('an empty log, an unknown kernel, and one of another project', async () => {
      const empty = await kernelWith([])
      expect([(await get(empty)).status, await (await get(empty)).text()]).toEqual([200, ''])
      expect((await get(empty, '', { range: 'bytes=0-' })).status).toBe(416)
      expect((await get(randomUUID())).status).toBe(404)
      const token = await server.factory.token({ role: 'VIEWER', projectId: await server.factory.project() })
      const refused = await get(await kernelWith([out('secret')]), '', {}, token)
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([404, 'KERNEL_NOT_FOUND'])
    })
  })
})

describe('measuring logs', () => {
  let database: TestDatabase
  let kernelId: string

  beforeAll(async () => {
    database = await testDatabase()
    kernelId = (await createFactories(database.db).session({ status: 'RUNNING' })).kernelIds[0]!
  })
  afterAll(() => database?.close())

  /** Lines `from` to `to`, one piece each; those of every third go to standard error. */
  async function write(from: number, to: number, on: Queryable = database.db): Promise<void> {
    await on.query(
      `INSERT INTO kernel_logs (kernel_id, assignment, stream, "offset", bytes, text, at)
     SELECT $1, 1, CASE WHEN n % 3 = 0 THEN 'STDERR' ELSE 'STDOUT' END::log_stream, n * 500, 1,
       'line ' || n || ' ' || repeat('é', n % 200) || E'\\n', now() FROM generate_series($2::int, $3::int) AS n`,
      [kernelId, from, to],
    )
  }

  async function wholeText({ stream }: LogTextOf): Promise<Buffer> {
    const { rows } = await database.db.query<{ text: string }>(
      `SELECT coalesce(string_agg(text, '' ORDER BY id), '') AS text FROM kernel_logs
     WHERE kernel_id = $1 AND ($2::log_stream IS NULL OR stream = $2)`,
      [kernelId, stream],
    )
    return Buffer.from(rows[0]!.text)
  }

  const bothAndEach = () => ([null, 'STDOUT', 'STDERR'] as const).map((stream): LogTextOf => ({ kernelId, stream }))

  /** The measured size is the real one, and each part of the log is found. */
  async function expectExact(index: ReturnType<typeof createLogTextIndex>, db: Database = database.db): Promise<void> {
    for (const of of bothAndEach()) {
      const measured = await index.measure({ db }, of)
      const whole = await wholeText(of)
      expect(measured.bytes).toBe(whole.length)
      for (const first of [0, 1, 262_143, 262_144, 262_145, 600_000, whole.length - 10]) {
        if (first < 0 || first >= whole.length) continue
        const last = Math.min(first + 999, whole.length - 1)
        const parts: Uint8Array[] = []
        for await (const part of readLogText({ db }, of, measured, { first, last })) parts.push(part)
        expect(Buffer.concat(parts).equals(whole.subarray(first, last + 1)), `${of.stream} from ${first}`).toBe(true)
      }
    }
  }

  test('only added pieces are measured again', async () => {
    const index = createLogTextIndex()
    await expectExact(index)
    await write(1, 6_000)
    await expectExact(index)
    const looksAt = async () => {
      const recorded = recordedDatabase(database.db)
      await index.measure(recorded, { kernelId, stream: null })
      const [statement] = [...recorded.statements.values()]
      return rowsRead(await analysedPlanOf(database.db, statement!))
    }
    // Transactions of other databases may keep it from being settled for a while.
    await eventually(async () => (await looksAt()) < 10)
    await write(6_001, 6_050)
    const rows = await looksAt()
    expect(rows).toBeGreaterThanOrEqual(50)
    expect(rows).toBeLessThan(60)
    await expectExact(index)
  })

  test('pieces that are committed late are counted, though later ones were measured first', async () => {
    const index = createLogTextIndex()
    const slow = await database.connect()
    try {
      await slow.query('BEGIN')
      await write(7_001, 7_010, slow)
      await write(7_011, 7_020)
      for (let time = 0; time < 3; time++) await expectExact(index)
      await slow.query('COMMIT')
    } finally {
      await slow.end()
    }
    for (let time = 0; time < 3; time++) await expectExact(index)
  })

  test('of a log that has lost its beginning, or is gone, nothing is remembered', async () => {
    const index = createLogTextIndex()
    for (let time = 0; time < 3; time++) await expectExact(index)
    const some = 'SELECT id FROM kernel_logs WHERE kernel_id = $1 ORDER BY id LIMIT 2000'
    await database.db.query(`DELETE FROM kernel_logs WHERE id IN (${some})`, [kernelId])
    for (let time = 0; time < 3; time++) await expectExact(index)
    await database.db.query('DELETE FROM kernel_logs')
    await expectExact(index)
    await write(1, 100)
    await expectExact(index)
  })
})
