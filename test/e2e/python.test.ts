import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { whyNotInstalled, whyNoRequests } from '../support/distribution.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { webhookReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver.ts'

/** Runs the programs of docs/python.md and docs/webhooks.md with the distribution's Python against a server and its agent. */

const PYTHON = whyNotInstalled('python3')
const REQUESTS = PYTHON ?? whyNoRequests()

let directory: string
let database: TestDatabase
let server: ServerProcess
let token: string
let receiver: WebhookReceiver
let between: Awaited<ReturnType<typeof cuttingProxy>>

beforeAll(async () => {
  directory = await temporaryDirectory('python')
  database = await testDatabase()
  receiver = await webhookReceiver()
  const dataDir = join(directory, '.reprise')
  const env = {
    REPRISE_DATABASE_URL: database.connectionString,
    REPRISE_WEBHOOK_ALLOW_NETWORKS: '127.0.0.1/32',
  }
  server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
  token = await readAdminToken(dataDir)
  between = await cuttingProxy(Number(new URL(server.url).port))
})
afterAll(async () => {
  await between?.close()
  await server?.stop()
  await receiver?.close()
  await database?.close()
})

/** Passes everything on, but cuts the first connection on which a followed chain has got its first event. */
async function cuttingProxy(port: number) {
  let cuts = 0
  const open = new Set<Socket>()
  const listener: Server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    const close = () => {
      client.destroy()
      upstream.destroy()
    }
    let follows = false
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', close).on('close', () => (open.delete(socket), close()))
    }
    client.on('data', (chunk: Buffer) => {
      if (chunk.includes('GET /v2/events?chain_id=')) follows = true
      upstream.write(chunk)
    })
    upstream.on('data', (chunk: Buffer) => {
      const cut = follows && cuts === 0 && chunk.includes('event: session.created')
      client.write(chunk, () => cut && close())
      if (cut) cuts++
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    cuts: () => cuts,
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

async function run(program: string, args: string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: directory, timeout: 150_000 }
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}\n${stderr}`))
      else resolve(stdout)
    })
    child.stdin!.end(input)
  })
}

const blocks = await blocksOfTest('test/e2e/python.test.ts')

test.skipIf(REQUESTS !== null)(
  `the program of docs/python.md does what the page says${REQUESTS === null ? '' : `: skipped, ${REQUESTS}`}`,
  async () => {
    const code = blocks.filter(({ page }) => page === 'docs/python.md').map(({ text }) => text)
    expect(code.length).toBeGreaterThan(10)
    const program = code.join('\n')
    expect(program).toContain("URL = 'http://127.0.0.1:4000'")
    await writeFile(join(directory, 'program.py'), program.replace('http://127.0.0.1:4000', between.url))
    const lines = (await run('python3', ['-W', 'error', 'program.py'])).trimEnd().split('\n')
    expect(between.cuts()).toBe(1)
    const at = (line: string) => lines.indexOf(line)
    expect(lines[0]).toBe('created attempt 1 of 4 True')
    const followed = lines.slice(1, at('SUCCEEDED after 2 attempts')).map((line) => line.split(' ')[0])
    expect(followed.filter((name) => name !== 'session.status_changed')).toEqual([
      'session.created',
      'session.error',
      'session.retry_scheduled',
      'session.created',
      'session.retry_dispatched',
      'session.terminated',
      'session.retry_succeeded',
      'chain.succeeded',
    ])
    expect(lines.slice(at('SUCCEEDED after 2 attempts') + 1)).toEqual([
      expect.stringMatching(/^attempt 1 ERROR 1 retry 1 of 3/),
      expect.stringMatching(/^attempt 2 TERMINATED 0 /),
      '2 sessions',
      '1 agent',
      'attempt 2',
      'attempt 2',
      'STDOUT attempt 2',
      'SCHEDULED KERNEL_NONZERO_EXIT',
      'FAILED',
      'CANCELLED',
      'CANCELLED',
      'attempt 2 RESUBMISSION SUCCEEDED',
      '1 of 1',
      'COMPLETED 1 done 0 refused',
      'SUCCEEDED',
      'CREATION_ID_REUSED',
      "VALIDATION_FAILED ['command', 'name']",
      'SESSION_NOT_FOUND',
    ])
  },
)

describe('a delivery', () => {
  let sent: { headers: Record<string, string>; body: string; secret: string }

  async function graphql(query: string): Promise<any> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
    return ((await response.json()) as { data: any }).data
  }

  beforeAll(async () => {
    const { createWebhook } = await graphql(
      `mutation { createWebhook(input: { url: "${receiver.url}", eventTypes: ["*"] }) { ... on CreateWebhookPayload { secret webhook { webhookId } } ... on Error { message } } }`,
    )
    const { secret, webhook } = createWebhook
    await graphql(`mutation { sendTestEvent(input: { webhookId: "${webhook.webhookId}" }) { __typename } }`)
    const { headers, body } = await eventually(() => receiver.received[0])
    sent = { secret, body, headers: headers as Record<string, string> }
  })

  /** What is verified: the delivery, and what has been done to it. */
  function cases() {
    const { secret, headers, body } = sent
    const other = `whsec_${Buffer.alloc(32, 'other').toString('base64')}`
    const rotated = { ...headers, 'webhook-signature': `v1,${btoa('another')} ${headers['webhook-signature']}` }
    return [
      { secret, headers, body },
      { secret, headers: rotated, body },
      { secret, headers, body: `${body} ` },
      { secret: other, headers, body },
      { secret, headers: { ...headers, 'webhook-id': 'msg_other' }, body },
      { secret, headers: { ...headers, 'webhook-timestamp': '1700000000' }, body },
    ]
  }
  const EXPECTED = [true, true, false, false, false, false]

  const codeOf = (language: string) =>
    blocks.find((block) => block.page === 'docs/webhooks.md' && block.language === language)!.text

  test.skipIf(PYTHON !== null)(`is verified in Python${PYTHON === null ? '' : `: skipped, ${PYTHON}`}`, async () => {
    const cli = `import json, sys\nprint(json.dumps([verify(c['secret'], c['headers'], c['body'].encode()) for c in json.load(sys.stdin)]))\n`
    await writeFile(join(directory, 'verify.py'), `${codeOf('python')}\n${cli}`)
    expect(JSON.parse(await run('python3', ['verify.py'], JSON.stringify(cases())))).toEqual(EXPECTED)
    const long = `${codeOf('python')}\nimport json, sys\n[c] = json.load(sys.stdin)\ntime.time = lambda: __import__('datetime').datetime.now().timestamp() + 301\nprint(verify(c['secret'], c['headers'], c['body'].encode()))\n`
    await writeFile(join(directory, 'verify-late.py'), long)
    expect(await run('python3', ['verify-late.py'], JSON.stringify(cases().slice(0, 1)))).toBe('False\n')
  })

  test('is verified in Node', async () => {
    await writeFile(join(directory, 'verify.mjs'), codeOf('js'))
    const cli = `import { verify } from './verify.mjs'\nlet text = ''\nfor await (const chunk of process.stdin) text += chunk\nconsole.log(JSON.stringify(JSON.parse(text).map((c) => verify(c.secret, c.headers, Buffer.from(c.body)))))\n`
    await writeFile(join(directory, 'cli.mjs'), cli)
    expect(JSON.parse(await run(process.execPath, ['cli.mjs'], JSON.stringify(cases())))).toEqual(EXPECTED)
    await writeFile(join(directory, 'late.mjs'), `const now = Date.now\nDate.now = () => now() + 301_000\n${cli}`)
    const late = await run(process.execPath, ['late.mjs'], JSON.stringify(cases().slice(0, 1)))
    expect(JSON.parse(late)).toEqual([false])
  })
})
