import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KINDS } from '../../../src/cli/completion/kinds.ts'
import { ROOT } from '../../guard/source-files.ts'
import { cleanEnvironment, commandLine } from '../../support/programs/command-line.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

/** What is offered at a prompt comes from a live server; there is none of these names elsewhere. */

let server: TestServer
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>
let script: string
let session: string

beforeAll(async () => {
  server = await startGraphQLServer()
  const directory = await temporaryDirectory('completion')
  const config = { XDG_CONFIG_HOME: directory, REPRISE_DATA_DIR: join(directory, 'none') }
  environment = { ...config, REPRISE_URL: server.url, REPRISE_TOKEN: server.adminToken }
  reprise = commandLine(environment)
  session = (await server.factory.session({ name: 'nightly-report' })).id
  await server.factory.session({ name: 'nightly: with blanks; and more' })
  script = join(directory, 'completion.bash')
  await writeFile(script, (await reprise('completion', 'bash')).stdout)
})
afterAll(() => server?.close())

async function offered(...words: string[]): Promise<string[]> {
  const { status, stdout, stderr } = await reprise('complete', '--', ...words)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.split('\n').filter(Boolean)
}

/** As bash calls it at Tab, in a checkout of the project. `before` comes before the script. */
async function completed(words: readonly string[], before = ''): Promise<string[]> {
  const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); $(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const args = ['--norc', '-c', `${before}\nsource ${script}\n${ask}`, 'bash', ...words]
  const { stdout } = await promisify(execFile)('bash', args, { cwd: ROOT, env: cleanEnvironment(environment) })
  return stdout.split('\n').filter(Boolean)
}

test(
  'sessions by name, and by id once one is begun; no name that a shell would take apart',
  { timeout: 60_000 },
  async () => {
    expect(await offered('session', '')).toEqual(['nightly-report'])
    expect(await offered('session', 'night')).toEqual(['nightly-report'])
    expect(await offered('session', 'day')).toEqual([])
    for (const begun of [session.slice(0, 3), session.slice(0, 8), session.slice(0, 20)]) {
      expect(await offered('session', begun)).toContain(session)
    }
  },
)

test('each kind is answered, or nothing is', { timeout: 60_000 }, async () => {
  expect(await offered('project', 'def')).toEqual(['default'])
  expect(await offered('domain', '')).toContain('default')
  expect(await offered('group', '')).toContain('default')
  const created = await reprise('users', 'create', 'ada')
  expect(created.status).toBe(0)
  expect(await offered('user', 'a')).toEqual(['ada'])
  const webhook = await reprise('webhooks', 'create', 'https://hook.example.com/', '--json')
  const { webhookId } = (JSON.parse(webhook.stdout) as { webhook: { webhookId: string } }).webhook
  expect(await offered('webhook', '')).toEqual([webhookId])
  // A document that the server refuses would be told in an error, which nobody sees.
  for (const kind of KINDS) {
    expect({ kind, ...(await reprise('complete', '--', kind, '')) }).toMatchObject({ kind, status: 0, stderr: '' })
  }
  expect(await offered('nothing', '')).toEqual([])
})

test('the server is that of the line; without one nothing is said', { timeout: 60_000 }, async () => {
  const nowhere = 'http://127.0.0.1:2'
  expect(await offered('session', '', 'info', '--url', nowhere)).toEqual([])
  const away = commandLine({ ...environment, REPRISE_URL: nowhere })
  expect(await away('complete', '--', 'session', '')).toEqual({ status: 0, stdout: '', stderr: '' })
  const back = await away('complete', '--', 'session', '', 'info', `--url=${server.url}`, '--unknown', 'x')
  expect(back.stdout).toBe('nightly-report\n')
})

test('bash completes `npx reprise`, and leaves npx what it had', { timeout: 60_000 }, async () => {
  expect(await completed(['npx', 'rep'])).toEqual(['reprise'])
  expect(await completed(['npx', 'reprise', 'retry', 'n'])).toEqual(['now'])
  expect(await completed(['npx', '--no', 'reprise', 'info', 'night'])).toEqual(['nightly-report'])
  expect(await completed(['npx', 'reprise', 'list', '--chain', '=', session.slice(0, 9)])).toContain(session)
  expect(await completed(['npx', 'reprise', 'projects', 'grant', 'default', 'ad'])).toEqual(['ada'])
  expect(await completed(['npx', 'reprise', 'cancel', 'other', '--force', 'night'])).toEqual(['nightly-report'])
  const earlier = '_earlier() { COMPREPLY=(earlier); }; complete -F _earlier npx'
  expect(await completed(['npx', 'vit'], earlier)).toEqual(['earlier'])
  expect(await completed(['npx', 'reprise', 'retry', 'n'], earlier)).toEqual(['now'])
})
