import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { endLogin } from '../support/browser.ts'
import { insertRows } from '../support/database/insert-rows.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { logInBrowser, newBrowserKey } from '../support/servers/browser-login.ts'
import { DEFAULT_PROJECT_ID } from '../support/sessions/factories.ts'
import { describeOwnUi, describePages } from '../support/ui-suite.ts'
import { visit } from '../support/visit.ts'

const LOG = 'what the program wrote\n'
const PLANT = 'mutation { createToken(input: { name: "planted", role: ADMIN }) { __typename } }'

interface KernelPage extends AsyncDisposable {
  url: string
  /** The cookies that browsers have sent. */
  cookies: string[]
  /** Sets these with what it answers from now on. */
  plant(cookies: string[]): void
}

/** Serves a page on another port, as the program of a session can. */
async function startKernelPage(): Promise<KernelPage> {
  const cookies: string[] = []
  let planted: string[] = []
  const served = createServer((request, response) => {
    if (request.url === '/') cookies.push(request.headers.cookie ?? '')
    response.writeHead(200, { 'Content-Type': 'text/html', 'Set-Cookie': planted }).end('<h1>results</h1>')
  }).listen(0, '127.0.0.1')
  await once(served, 'listening')
  return {
    url: `http://127.0.0.1:${(served.address() as AddressInfo).port}/`,
    cookies,
    plant: (given) => void (planted = given),
    async [Symbol.asyncDispose]() {
      served.close()
      served.closeAllConnections()
    },
  }
}

/** Run in the page of the kernel. */
async function askFromPage(url: string) {
  const attempt = (work: Promise<Response>) =>
    work.then(
      ({ type }) => type as string,
      (error: Error) => error.name,
    )
  const body = JSON.stringify({
    query: 'mutation { createToken(input: { name: "planted", role: ADMIN }) { __typename } }',
  })
  const credentials = 'include' as const
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const closed = new Promise<number>((resolve) => {
    socket.addEventListener('close', ({ code }) => resolve(code))
    socket.addEventListener('open', () => socket.send('{"type":"connection_init","payload":{}}'))
  })
  const frame = document.createElement('iframe')
  frame.src = `${url}/chains`
  const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
  document.body.append(frame)
  await loaded
  const headers = { 'x-reprise-browser-key': 'k'.repeat(43) }
  return {
    read: await attempt(fetch(`${url}/v2/sessions`, { credentials })),
    withKey: await attempt(fetch(`${url}/v2/sessions`, { credentials, headers })),
    blind: await attempt(fetch(`${url}/graphql`, { method: 'POST', mode: 'no-cors', credentials, body })),
    socket: await closed,
    framed: frame.contentDocument === null ? 'unreadable' : 'readable',
  }
}

describePages('logging in, in a browser', (server) => {
  const withoutRefusals = (faults: string[]) => faults.filter((fault) => !fault.includes('401'))

  async function logInOn(page: Page, token: string): Promise<void> {
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Log in' }).click()
  }

  async function chainWithLog(): Promise<{ chainId: string; kernelId: string }> {
    const { id: chainId, kernelIds } = await server.factory.session({ status: 'RUNNING' })
    const kernelId = kernelIds[0]!
    const row = { kernel_id: kernelId, assignment: 1, stream: 'STDOUT', offset: 0, bytes: LOG.length, text: LOG }
    await insertRows(server.db, 'kernel_logs', [{ ...row, at: new Date() }])
    return { chainId, kernelId }
  }

  async function tokenNames(): Promise<string[]> {
    const { rows } = await server.db.query<{ name: string }>(
      'SELECT name FROM api_tokens WHERE parent_id IS NULL ORDER BY id',
    )
    return rows.map(({ name }) => name)
  }

  /** Sends the cookie alone in every kind of request; returns the status of each. */
  async function replay(cookie: string): Promise<[string, number][]> {
    const headers = { cookie, origin: server.url, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
    const post = (query: string, more: Record<string, string> = {}) =>
      fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { ...headers, ...more },
        body: JSON.stringify({ query }),
      })
    const answers: [string, Response][] = [
      ['query', await post('{ viewer { name } }')],
      ['mutation', await post(PLANT)],
      ['stream', await post('subscription { sessionEvents { cursor } }', { accept: 'text/event-stream' })],
      ['made-up key', await post(PLANT, { 'x-reprise-browser-key': newBrowserKey() })],
      ['token', await post(PLANT, { authorization: `Bearer ${cookie.split('=')[1]}` })],
      ['REST', await fetch(`${server.url}/v2/sessions`, { headers })],
      ['events', await fetch(`${server.url}/v2/events`, { headers })],
      ['link', await fetch(`${server.url}/ui/link?to=/v2/kernels/x/log`, { method: 'POST', headers })],
    ]
    return answers.map(([what, { status }]) => [what, status])
  }

  test('a pasted token opens the requested page, and no script can read the token afterwards', async () => {
    await using opened = await visit({ url: server.url, isNew: true })
    const { page } = opened
    await page.goto('/chains?state=failed')
    await page.getByLabel('Token').fill('rpr_wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('does not know this token').waitFor()
    expect(opened.faults.splice(0).every((fault) => fault.includes('401'))).toBe(true)
    await page.getByLabel('Token').fill(server.adminToken)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    expect(new URL(page.url()).search).toBe('?state=failed')
    const kept = await page.evaluate(() =>
      JSON.stringify([document.cookie, Object.entries(localStorage), Object.entries(sessionStorage)]),
    )
    expect(kept).not.toContain('rpr_')
    expect(kept).toContain('reprise-browser-key')
    expect(await page.content()).not.toContain(server.adminToken)
    expect(opened.faults).toEqual([])
  })

  test('a code logs in once, and leaves the address at once', async () => {
    const response = await fetch(`${server.url}/ui/code`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminToken}` },
    })
    const { code } = (await response.json()) as { code: string }
    await using first = await visit({ url: server.url, isNew: true })
    await first.page.goto(`/login#code=${code}`)
    await first.page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    expect(first.page.url()).not.toContain(code)
    await first.page.goBack().catch(() => null)
    expect(first.page.url()).not.toContain(code)
    expect(first.faults).toEqual([])
    await using second = await visit({ url: server.url, isNew: true })
    await second.page.goto(`/login#code=${code}`)
    await second.page.getByText('has been used').waitFor()
    expect(second.page.url()).not.toContain(code)
  })

  test('a link with a code replaces a login only after a click, since any page can contain such a link', async () => {
    await using kernel = await startKernelPage()
    const own = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID, name: 'attacker' })
    const response = await fetch(`${server.url}/ui/code`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own}` },
    })
    const { code } = (await response.json()) as { code: string }
    await using opened = await visit({ url: server.url, token: server.adminToken, isNew: true })
    const { page } = opened
    await page.goto(kernel.url)
    await page.evaluate((to) => location.assign(to), `${server.url}/login#code=${code}`)
    const button = page.getByRole('button', { name: 'Log in with this link' })
    await button.waitFor()
    expect(page.url()).not.toContain(code)
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    expect(await page.content()).not.toContain('attacker')
    await page.goto(`/login#code=${code}`)
    await button.click()
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    await page.getByRole('button', { name: /attacker/ }).waitFor()
  })

  test('a login lasts across a reload, in tabs that are opened later, and for downloads', async () => {
    const { chainId } = await chainWithLog()
    await using opened = await visit({ url: server.url, isNew: true })
    const { page, context } = opened
    await page.goto(`/chains/${chainId}`)
    await logInOn(page, server.adminToken)
    await page.locator('.log-line', { hasText: LOG.trim() }).waitFor()
    await page.reload()
    await page.locator('.log-line', { hasText: LOG.trim() }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^[\w-]+-attempt-1\.log$/)
    expect(await text(await download.createReadStream())).toBe(LOG)
    const second = await context.newPage()
    await second.goto('/chains')
    await second.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    expect(await second.getByLabel('Token').count()).toBe(0)
    await page.getByText('Live', { exact: true }).waitFor()
    expect(withoutRefusals(opened.faults)).toEqual([])
  })

  test('a new login in one tab holds in all tabs', async () => {
    const { chainId } = await chainWithLog()
    await using opened = await visit({ url: server.url, token: server.adminToken, isNew: true })
    const { page, context } = opened
    const second = await context.newPage()
    const lost = (each: Page) => each.getByRole('dialog', { name: 'You are no longer logged in' })
    for (const each of [page, second]) {
      await each.goto(`/chains/${chainId}`)
      await each.getByText('Live', { exact: true }).waitFor()
    }
    await endLogin(page)
    for (const each of [page, second]) await lost(each).waitFor()
    await logInOn(page, server.adminToken)
    for (const each of [page, second]) {
      await lost(each).waitFor({ state: 'detached' })
      await each.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Chains' }).click()
      await each.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    }
  })

  test('a browser with a cookie and no key is asked to log in again', async () => {
    await using opened = await visit({ url: server.url, isNew: true })
    const { page, context } = opened
    await context.addCookies([{ name: 'reprise_session', value: `rpr_${newBrowserKey()}`, url: server.url }])
    await page.goto('/chains')
    await page.getByText('has only a part of its login').waitFor()
    await logInOn(page, server.adminToken)
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
  })

  test('a kernel that serves a page on another port gets the cookie, and can do nothing with it', async () => {
    await using kernel = await startKernelPage()
    await using opened = await visit({ url: server.url, token: server.adminToken, isNew: true })
    const { page, context } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    const before = await tokenNames()
    const trap = await context.newPage()
    await trap.goto(kernel.url)
    expect(kernel.cookies.at(-1)).toMatch(/^reprise_session=rpr_[\w-]{43}$/)
    // Its own program sends what it got.
    for (const [what, status] of await replay(kernel.cookies.at(-1)!)) expect([what, status]).toEqual([what, 401])
    // Its page asks in the victim's browser.
    expect(await trap.evaluate(() => [Object.entries(localStorage), document.cookie])).toEqual([[], ''])
    expect(await trap.evaluate(askFromPage, server.url)).toEqual({
      read: 'TypeError',
      withKey: 'TypeError',
      blind: 'TypeError',
      socket: 4401,
      framed: 'unreadable',
    })
    expect(await tokenNames()).toEqual(before)
    expect(await page.evaluate(() => document.body.textContent)).toContain('Chains')
    await page.reload()
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
  })

  test('a kernel that replaces the cookie logs the browser out, and nobody becomes somebody else', async () => {
    await using kernel = await startKernelPage()
    const own = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID, name: 'attacker' })
    const { cookie } = await logInBrowser(server.url, `Bearer ${own}`)
    await using opened = await visit({ url: server.url, token: server.adminToken, isNew: true })
    const { page, context } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    const trap = await context.newPage()
    kernel.plant([`${cookie}; Path=/; HttpOnly; SameSite=Strict`, `${cookie}; Path=/graphql; HttpOnly`])
    await trap.goto(kernel.url)
    kernel.plant([])
    await page.reload()
    await page.getByLabel('Token').waitFor()
    expect(await page.content()).not.toContain('attacker')
    // The cookie for the longer path stays, and is sent before that of the new login.
    await logInOn(page, server.adminToken)
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    expect(await page.content()).not.toContain('attacker')
  })

  test('after a logout nothing is shown any more', async () => {
    await using opened = await visit({ url: server.url, token: server.adminToken, isNew: true })
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('button', { name: /theme, times, keys, log out/ }).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
    expect(await page.evaluate(() => localStorage.length)).toBe(0)
    await page.goto('/chains')
    await page.getByLabel('Token').waitFor()
    expect(withoutRefusals(opened.faults)).toEqual([])
  })

  test.each(['light', 'dark'] as const)('axe finds no fault: %s', async (colorScheme) => {
    await using opened = await visit({ url: server.url, colorScheme })
    await opened.page.goto('/login')
    await opened.page.getByLabel('Token').waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })
})

const TRUSTED = `mutation {
  createSession(input: { name: "trusted", command: ["sh", "-c", "echo ran; exit 3"], retryPolicy: { maxRetries: 1, retryDelay: 900 } }) {
    ... on CreateSessionPayload { session { chainId } }
  }
}`

/** The settings of a server that executes this document, and no others but those of its web UI. */
async function trusted(): Promise<Record<string, string>> {
  const file = join(await temporaryDirectory('trusted'), 'documents.json')
  await writeFile(file, JSON.stringify({ [createHash('sha256').update(TRUSTED).digest('hex')]: TRUSTED }))
  return { REPRISE_TRUSTED_DOCUMENTS: file }
}

describeOwnUi(
  'with trusted documents',
  'trusted-documents',
  (ui) => {
    test('the web UI reads, follows and acts', async () => {
      const { createSession } = await ui.query(TRUSTED)
      await using opened = await ui.open()
      const { page } = opened
      await page.goto(`/chains/${createSession.session.chainId}`)
      await page.getByText('waiting for retry 1 of 1').waitFor()
      await page.locator('.log-line', { hasText: 'ran' }).waitFor()
      await page.getByText('Live', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Retry now' }).click()
      await page.getByRole('option', { name: /^attempt 2, / }).waitFor()
      const paths = await page
        .getByRole('navigation', { name: 'Pages' })
        .locator('a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')!))
      expect(paths.length).toBeGreaterThanOrEqual(3)
      for (const path of paths) {
        await page.goto(path)
        await page.locator('main h1').first().waitFor()
        await page.waitForLoadState('networkidle')
        expect(await page.getByText(/trusted documents only/).count(), path).toBe(0)
      }
      expect(opened.faults).toEqual([])
    })

    test('other documents are refused', async () => {
      const response = await fetch(`${ui.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${ui.token}` },
        body: JSON.stringify({ query: '{ viewer { name } }' }),
      })
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'DOCUMENT_NOT_TRUSTED' } }] })
    })
  },
  trusted,
)
