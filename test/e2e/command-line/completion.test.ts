import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KINDS } from '../../../src/cli/completion/tree.ts'
import { ROOT } from '../../guard/source-files.ts'
import { cleanEnvironment, commandLine } from '../../support/programs/command-line.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

/** What is offered at a prompt comes from a live server; there is none of these names elsewhere. */

/** A busy machine answers too late for a prompt, which is offered nothing then. */
const IN_TIME = { timeout: 120_000 }

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

test('sessions by name, and by id once one is begun; no name that a shell would take apart', async () => {
  await expect.poll(() => offered('session', ''), IN_TIME).toEqual(['nightly-report'])
  await expect.poll(() => offered('session', 'night'), IN_TIME).toEqual(['nightly-report'])
  expect(await offered('session', 'day')).toEqual([])
  for (const begun of [session.slice(0, 3), session.slice(0, 8), session.slice(0, 20)]) {
    await expect.poll(() => offered('session', begun), IN_TIME).toContain(session)
  }
})

test('each kind is answered, or nothing is', async () => {
  await expect.poll(() => offered('project', 'def'), IN_TIME).toEqual(['default'])
  await expect.poll(() => offered('domain', ''), IN_TIME).toContain('default')
  await expect.poll(() => offered('group', ''), IN_TIME).toContain('default')
  const created = await reprise('users', 'create', 'ada')
  expect(created.status).toBe(0)
  await expect.poll(() => offered('user', 'a'), IN_TIME).toEqual(['ada'])
  const webhook = await reprise('webhooks', 'create', 'https://hook.example.com/', '--json')
  const { webhookId } = (JSON.parse(webhook.stdout) as { webhook: { webhookId: string } }).webhook
  await expect.poll(() => offered('webhook', ''), IN_TIME).toEqual([webhookId])
  // A document that the server refuses would be told in an error, which nobody sees.
  for (const kind of KINDS) {
    expect({ kind, ...(await reprise('complete', '--', kind, '')) }).toMatchObject({ kind, status: 0, stderr: '' })
  }
  expect(await offered('nothing', '')).toEqual([])
})

test('the server is that of the line; without one nothing is said', async () => {
  const nowhere = 'http://127.0.0.1:2'
  expect(await offered('session', '', 'info', '--url', nowhere)).toEqual([])
  const away = commandLine({ ...environment, REPRISE_URL: nowhere })
  expect(await away('complete', '--', 'session', '')).toEqual({ status: 0, stdout: '', stderr: '' })
  const back = () => away('complete', '--', 'session', '', 'info', `--url=${server.url}`, '--unknown', 'x')
  await expect.poll(async () => (await back()).stdout, IN_TIME).toBe('nightly-report\n')
})

test('bash completes `npx reprise`, and leaves npx what it had', async () => {
  expect(await completed(['npx', 'rep'])).toEqual(['reprise'])
  expect(await completed(['npx', 'reprise', 'retry', 'n'])).toEqual(['now'])
  for (const [words, found] of [
    [['--no', 'reprise', 'info', 'night'], ['nightly-report']],
    [['reprise', 'list', '--chain', '=', session.slice(0, 9)], expect.arrayContaining([session])],
    [['reprise', 'projects', 'grant', 'default', 'ad'], ['ada']],
    [['reprise', 'cancel', 'other', '--force', 'night'], ['nightly-report']],
  ] as const) {
    await expect.poll(() => completed(['npx', ...words]), IN_TIME).toEqual(found)
  }
  const earlier = '_earlier() { COMPREPLY=(earlier); }; complete -F _earlier npx'
  expect(await completed(['npx', 'vit'], earlier)).toEqual(['earlier'])
  expect(await completed(['npx', 'reprise', 'retry', 'n'], earlier)).toEqual(['now'])
})
