import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { writeEvents } from '../../support/database/outbox.ts'
import { cleanEnvironment, commandLine, startCommand } from '../../support/programs/command-line.ts'
import type { TestServer } from '../../support/servers/graphql-server.ts'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { KINDS } from '../../../src/cli/completion/tree.ts'
import { ROOT } from '../../guard/source-files.ts'
import { serveCommands } from './command-server.ts'

describe('ids', () => {
  /** Commands take any unique beginning of an id, and list the candidates if it is not unique. */

  let server: TestServer
  let environment: Record<string, string>
  let reprise: ReturnType<typeof commandLine>

  beforeAll(async () => {
    ;({ server, environment, reprise } = await serveCommands('ids'))
  })
  afterAll(() => server?.close())

  async function json<Shown>(...args: string[]): Promise<Shown> {
    const at = args.includes('--') ? args.indexOf('--') : args.length
    const { status, stdout, stderr } = await reprise(...args.toSpliced(at, 0, '--json'))
    expect({ args, status, stderr: status === 0 ? '' : stderr }).toEqual({ args, status: 0, stderr: '' })
    return JSON.parse(stdout) as Shown
  }

  /** All but the last digits, in capitals: no other id has it. */
  const begun = (id: string) => id.slice(0, -4).toUpperCase()

  test('sessions and chains: in filters and as dependencies', async () => {
    const chain = await server.factory.chain(2, { name: 'again' })
    const [first, second] = [chain[0]!, chain[1]!]
    const ids = async (...options: string[]) =>
      (await json<{ sessionId: string }[]>('list', ...options)).map(({ sessionId }) => sessionId)
    for (const given of [first.id, begun(first.id), second.id, begun(second.id), 'again']) {
      expect((await ids('--chain', given)).toSorted()).toEqual([first.id, second.id].toSorted())
    }
    expect(await ids('--chain', '00000000-0000-7000-8000-00000000dead')).toEqual([])
    expect(await ids('--parent', begun(first.id))).toEqual([second.id])
    expect(await reprise('list', '--parent', 'nobody')).toMatchObject({ status: 3 })
    const { session } = await json<Record<'session', { sessionId: string }>>(
      'create',
      '--depends-on',
      begun(second.id),
      '--',
      'true',
    )
    const asked = `{ session(id: "${session.sessionId}") { dependsOn { sessionId } } }`
    const { session: made } = await json<{ session: { dependsOn: { sessionId: string }[] } }>('graphql', asked)
    expect(made.dependsOn).toHaveLength(1)
    const { webhook } = await json<{ webhook: { chainId: string } }>(
      'webhooks',
      'create',
      'https://one.example.com/',
      '--chain',
      begun(second.id),
    )
    expect(webhook.chainId).toBe(first.id)
  })

  test('agents: by a beginning or the name, in every option that allows or avoids them', async () => {
    const agent = await server.factory.agent('node-7')
    const other = await server.factory.agent('node-8')
    const { session } = await json<Record<'session', { sessionId: string }>>(
      'create',
      '--allow-agent',
      begun(agent),
      '--avoid-agent',
      'node-8',
      '--',
      'true',
    )
    const asked = `{ session(id: "${session.sessionId}") { allowAgents avoidAgents } }`
    expect((await json<{ session: object }>('graphql', asked)).session).toEqual({
      allowAgents: [agent],
      avoidAgents: [other],
    })
    expect(await reprise('create', '--exclude-agent', 'node-9', '--', 'true')).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('There is no agent with the id or the name node-9'),
    })
    const running = await server.factory.session({ status: 'RUNNING' })
    const { rows } = await server.db.query<{ agent_id: string }>('SELECT agent_id FROM kernels WHERE session_id = $1', [
      running.id,
    ])
    const found = await json<{ sessionId: string }[]>('list', '--on-agent', begun(rows[0]!.agent_id))
    expect(found.map((one) => one.sessionId)).toContain(running.id)
    const chains = await json<{ chainId: string }[]>('chains', '--on-agent', begun(rows[0]!.agent_id))
    expect(chains.map(({ chainId }) => chainId)).toContain(running.chainId)
  })

  test('webhooks, deliveries, tokens and deployments', async () => {
    const url = 'https://two.example.com/'
    const { webhook } = await json<{ webhook: { webhookId: string } }>('webhooks', 'create', url)
    const id = begun(webhook.webhookId)
    for (const args of [
      ['disable', id],
      ['enable', id],
      ['rotate', id],
      ['test', id],
    ]) {
      expect({ args, ...(await reprise('webhooks', ...args)) }).toMatchObject({ args, status: 0 })
    }
    const [delivery] = await json<{ deliveryId: string }[]>('webhooks', 'deliveries', id)
    const { rowCount } = await server.db.query(
      `UPDATE webhook_deliveries SET status = 'FAILED', finished_at = now() WHERE id = $1`,
      [delivery!.deliveryId],
    )
    expect(rowCount).toBe(1)
    const replayed = await json<{ deliveryId: string }>('webhooks', 'replay', '--delivery', begun(delivery!.deliveryId))
    expect(replayed.deliveryId).toBe(delivery!.deliveryId)
    expect(await reprise('webhooks', 'delete', id)).toMatchObject({ status: 0 })
    expect(await reprise('webhooks', 'delete', id)).toMatchObject({ status: 3 })

    const { token } = await json<{ token: { tokenId: string } }>('tokens', 'create', 'ci', '--role', 'admin')
    expect(await json('audit', '--by', begun(token.tokenId))).toEqual([])
    expect(await reprise('tokens', 'revoke', begun(token.tokenId))).toMatchObject({ status: 0 })
    await json('tokens', 'create', 'named', '--role', 'admin')
    expect(await reprise('tokens', 'revoke', 'named')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('revoked'),
    })
    expect(await reprise('tokens', 'revoke', 'named')).toMatchObject({ status: 3 })

    const { deploymentId } = await json<{ deploymentId: string }>('deployments', 'create', 'web', '--', 'serve')
    expect(await json('deployments', 'info', begun(deploymentId))).toMatchObject({ deploymentId })
    expect(await reprise('deployments', 'scale', begun(deploymentId), '0')).toMatchObject({ status: 0 })
  })

  test('resubmissions', async () => {
    const sessions = [
      await server.factory.session({ status: 'ERROR' }),
      await server.factory.session({ status: 'ERROR' }),
    ]
    const { resubmission } = await json<{ resubmission: { resubmissionId: string } }>(
      'resubmit',
      ...sessions.map(({ id }) => id),
    )
    // It is over, so there is nothing to abort; it was found.
    const ended = await reprise('resubmissions', 'abort', begun(resubmission.resubmissionId))
    expect(ended).toMatchObject({ status: 5, stderr: expect.not.stringContaining('There is no') })
    expect(await reprise('resubmissions', 'abort', '01234567-89')).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('There is no bulk action with the id 01234567-89'),
    })
  })

  test('an ambiguous beginning lists the candidates with their names', async () => {
    const made = [await server.factory.session({ name: 'one' }), await server.factory.session({ name: 'two' })]
    const { status, stderr } = await reprise('info', made[0]!.id.slice(0, 8))
    expect(status).toBe(2)
    for (const [at, name] of ['one', 'two'].entries()) expect(stderr).toContain(`${made[at]!.id} (${name})`)
    await json('tokens', 'create', 'twin', '--role', 'admin')
    await json('tokens', 'create', 'twin', '--role', 'admin')
    expect(await reprise('tokens', 'revoke', 'twin')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/has this name: [0-9a-f-]{36} \(twin\), [0-9a-f-]{36} \(twin\)/),
    })
  })

  test.each(['webhooks', 'resubmissions', 'tokens', 'deployments'])(
    'an invalid prefix is refused for %s',
    async (list) => {
      const argument = list === 'deployments' ? 'filter: { idPrefix: "x" }' : 'idPrefix: "01234567\' OR 1=1"'
      const { data, errors } = await server.query(
        `{ ${list}(${argument}) { edges { cursor } } }`,
        {},
        server.adminToken,
      )
      expect(data?.[list] ?? null).toBeNull()
      expect(errors).toMatchObject([{ extensions: { code: 'VALIDATION_FAILED' } }])
    },
  )

  test('watch shows the names of sessions', async () => {
    const { id: sessionId, chainId } = await server.factory.session({ name: 'watched-one' })
    const { child, output, ended } = startCommand(['watch', 'watched-one'], environment)
    await vi.waitFor(() => expect(output.stderr).toContain('watching from'), { timeout: 120_000 })
    await writeEvents(server.db, [{ type: 'session.error', sessionId, chainId }])
    server.wake.wake('events')
    const line = new RegExp(`^\\S+  ${sessionId}  watched-one  .*ERROR`)
    await vi.waitFor(() => expect(output.stdout).toMatch(line), { timeout: 120_000 })
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ status: 130 })
  })
})

describe('completion', () => {
  /** Completions come from a live server; these names exist nowhere else. */

  /** A busy machine answers too late for a prompt, which is offered nothing then. */
  const IN_TIME = { timeout: 120_000 }

  let server: TestServer
  let environment: Record<string, string>
  let reprise: ReturnType<typeof commandLine>
  let script: string
  let session: string

  beforeAll(async () => {
    const { directory, ...served } = await serveCommands('completion')
    ;({ server, environment, reprise } = served)
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

  /** Completes as bash does at Tab, in a checkout of the project. `before` runs before the script. */
  async function completed(words: readonly string[], before = ''): Promise<string[]> {
    const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); $(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"`
    const args = ['--norc', '-c', `${before}\nsource ${script}\n${ask}`, 'bash', ...words]
    const { stdout } = await promisify(execFile)('bash', args, { cwd: ROOT, env: cleanEnvironment(environment) })
    return stdout.split('\n').filter(Boolean)
  }

  test('sessions complete by name, or by id once an id is begun; names that a shell would split are left out', async () => {
    await expect.poll(() => offered('session', ''), IN_TIME).toEqual(['nightly-report'])
    await expect.poll(() => offered('session', 'night'), IN_TIME).toEqual(['nightly-report'])
    expect(await offered('session', 'day')).toEqual([])
    for (const begun of [session.slice(0, 3), session.slice(0, 8), session.slice(0, 20)]) {
      await expect.poll(() => offered('session', begun), IN_TIME).toContain(session)
    }
  })

  test('every kind completes; an unknown kind completes to nothing', async () => {
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

  test('completion asks the server named on the line; without a server it prints nothing', async () => {
    const nowhere = 'http://127.0.0.1:2'
    expect(await offered('session', '', 'info', '--url', nowhere)).toEqual([])
    const away = commandLine({ ...environment, REPRISE_URL: nowhere })
    expect(await away('complete', '--', 'session', '')).toEqual({ status: 0, stdout: '', stderr: '' })
    const back = () => away('complete', '--', 'session', '', 'info', `--url=${server.url}`, '--unknown', 'x')
    await expect.poll(async () => (await back()).stdout, IN_TIME).toBe('nightly-report\n')
  })

  test('bash completes `npx reprise`, and keeps an earlier completion of npx', async () => {
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
})
