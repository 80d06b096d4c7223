import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleUi } from '../../scripts/bundle-ui.ts'
import { readUiFiles } from '../../src/http/ui-files.ts'
import { ROOT } from '../guard/source-files.ts'
import { whyNoBrowser } from '../support/browser.ts'
import { startGraphQLServer, type TestServer } from '../support/servers/graphql-server.ts'
import { visit } from '../support/visit.ts'

const missing = whyNoBrowser()

describe.skipIf(missing !== null)('logging in, in a browser', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer({ ui: await readUiFiles(await bundleUi(ROOT)) })
  })
  afterAll(async () => {
    await server?.close()
  })

  test('a pasted token leads to the page that was asked for, and no script can read what is kept of it', async () => {
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
    expect(await page.content()).not.toContain(server.adminToken)
    expect(opened.faults).toEqual([])
  })

  test('a code logs in once, and is gone from the address at once', async () => {
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

  test('somebody who logs out sees nothing any more', async () => {
    await using opened = await visit({ url: server.url, token: server.adminToken, isNew: true })
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('button', { name: /theme, times, keys, log out/ }).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
    await page.goto('/chains')
    await page.getByLabel('Token').waitFor()
    expect(opened.faults.filter((fault) => !fault.includes('401'))).toEqual([])
  })

  test.each(['light', 'dark'] as const)('the page has no fault that axe finds, %s', async (colorScheme) => {
    await using opened = await visit({ url: server.url, colorScheme })
    await opened.page.goto('/login')
    await opened.page.getByLabel('Token').waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })
})
