import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoBrowser } from '../support/browser.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { startUiServer, type UiServer } from '../support/servers/ui-server.ts'

/** A server that executes the documents of a client's build and no others has those of its own web UI besides. */

const CREATE = `mutation {
  createSession(input: { name: "trusted", command: ["sh", "-c", "echo ran; exit 3"], retryPolicy: { maxRetries: 1, retryDelay: 900 } }) {
    ... on CreateSessionPayload { session { chainId } }
  }
}`

describe.skipIf(whyNoBrowser() !== null)('with trusted documents', () => {
  let server: UiServer

  beforeAll(async () => {
    const file = join(await temporaryDirectory('trusted'), 'documents.json')
    await writeFile(file, JSON.stringify({ [createHash('sha256').update(CREATE).digest('hex')]: CREATE }))
    server = await startUiServer('trusted-documents', { REPRISE_TRUSTED_DOCUMENTS: file })
  })
  afterAll(async () => {
    await server?.close()
  })

  test('the web UI reads, follows and acts', async () => {
    const { createSession } = await server.query(CREATE)
    await using opened = await server.open()
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

  test('and nobody else is let ask anything else', async () => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${server.token}` },
      body: JSON.stringify({ query: '{ viewer { name } }' }),
    })
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'DOCUMENT_NOT_TRUSTED' } }] })
  })
})
