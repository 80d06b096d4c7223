import { execFile, type ExecFileOptions } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { findPython, whyNoPythonModule, whyNotInstalled } from '../support/distribution.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { webhookReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver.ts'

/** Runs the programs of docs/python.md and docs/webhooks.md with the distribution's Python against a server and its agent. */

const PYTHON = whyNotInstalled('python3')
const PACKAGES = PYTHON ?? whyNoPythonModule('venv') ?? whyNoPythonModule('cloudpickle') ?? whyNoPythonModule('joblib')

let directory: string
let database: TestDatabase
let server: ServerProcess
let token: string
let receiver: WebhookReceiver

beforeAll(async () => {
  directory = await temporaryDirectory('python')
  database = await testDatabase()
  receiver = await webhookReceiver()
  const dataDir = join(directory, '.reprise')
  const env = {
    REPRISE_DATABASE_URL: database.connectionString,
    REPRISE_WEBHOOK_ALLOW_NETWORKS: '127.0.0.1/32',
    REPRISE_SLOTS: 'cpu=16,mem=8g',
  }
  server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
  token = await readAdminToken(dataDir)
})
afterAll(async () => {
  await server?.stop()
  await receiver?.close()
  await database?.close()
})

async function run(program: string, args: string[], given: ExecFileOptions = {}, input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: directory, timeout: 300_000, ...given, encoding: 'utf8' } as const
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}\n${stderr}`))
      else resolve(stdout)
    })
    child.stdin!.end(input)
  })
}

const blocks = await blocksOfTest('test/e2e/python.test.ts')

test.skipIf(PACKAGES !== null)(
  `the program of docs/python.md does what the page says${PACKAGES === null ? '' : `: skipped, ${PACKAGES}`}`,
  async () => {
    const page = blocks.filter((block) => block.page === 'docs/python.md')
    const install = page.find(({ language }) => language === 'sh')
    const [training, ...program] = page
      .filter(({ language }) => language === 'python')
      .map(({ text }) => text)
      .toSorted((a, b) => Number(b.startsWith('# train.py')) - Number(a.startsWith('# train.py')))
    const work = join(directory, 'work')
    await mkdir(work)
    await writeFile(join(work, 'train.py'), training!)
    await run(findPython()!, ['-m', 'venv', '--system-site-packages', join(directory, 'venv')])
    const env = {
      ...process.env,
      PATH: `${join(directory, 'venv/bin')}${delimiter}${process.env['PATH']}`,
      REPRISE_DATA_DIR: join(directory, '.reprise'),
      PIP_CONFIG_FILE: '/dev/null',
    }
    await run('sh', ['-ec', install!.text.replace('http://127.0.0.1:4000', server.url)], { cwd: work, env })
    await writeFile(join(directory, 'program.py'), program.join('\n'))
    const python = join(directory, 'venv/bin/python3')
    const printed = await run(python, [join(directory, 'program.py')], { cwd: work, env })
    const lines = printed.trimEnd().split('\n')
    const trained = ['epoch 0', 'epoch 1', 'the machine is tired', 'epoch 2']
    expect(lines.slice(0, 4)).toEqual(trained)
    expect(lines.slice(4)).toEqual([
      String.raw`['epoch 0\n', 'epoch 1\n', 'epoch 2\n', 'epoch 3\n']`,
      expect.stringMatching(/^1 1 retry 1 of 5/),
      expect.stringMatching(/^2 0 succeeded on attempt 2/),
      "['results/model']",
      "FAILED KERNEL_NONZERO_EXIT 4 ['no such file']",
      "['priority']",
      'GROUP_NOT_FOUND',
      "<Group 'sweep-7' SUCCEEDED: 199 succeeded, 1 failed, of 200>",
      "200 True ValueError('an unlucky number')",
      '1 [13]',
      String.raw`['sum: 1+2+3\n']`,
      'SUCCEEDED',
      '[1, 2, 4, 8, 16]',
      '[1, 3, 9, 27]',
      'job 0',
      'job 1',
      'job 2',
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
    expect(JSON.parse(await run('python3', ['verify.py'], {}, JSON.stringify(cases())))).toEqual(EXPECTED)
    const long = `${codeOf('python')}\nimport json, sys\n[c] = json.load(sys.stdin)\ntime.time = lambda: __import__('datetime').datetime.now().timestamp() + 301\nprint(verify(c['secret'], c['headers'], c['body'].encode()))\n`
    await writeFile(join(directory, 'verify-late.py'), long)
    expect(await run('python3', ['verify-late.py'], {}, JSON.stringify(cases().slice(0, 1)))).toBe('False\n')
  })

  test('is verified in Node', async () => {
    await writeFile(join(directory, 'verify.mjs'), codeOf('js'))
    const cli = `import { verify } from './verify.mjs'\nlet text = ''\nfor await (const chunk of process.stdin) text += chunk\nconsole.log(JSON.stringify(JSON.parse(text).map((c) => verify(c.secret, c.headers, Buffer.from(c.body)))))\n`
    await writeFile(join(directory, 'cli.mjs'), cli)
    expect(JSON.parse(await run(process.execPath, ['cli.mjs'], {}, JSON.stringify(cases())))).toEqual(EXPECTED)
    await writeFile(join(directory, 'late.mjs'), `const now = Date.now\nDate.now = () => now() + 301_000\n${cli}`)
    const late = await run(process.execPath, ['late.mjs'], {}, JSON.stringify(cases().slice(0, 1)))
    expect(JSON.parse(late)).toEqual([false])
  })
})
