import type { Page } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { webhookReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver.ts'
import { describeUi, expectFit, rowOf } from '../support/ui-suite.ts'

/** Webhooks in the settings, with a real endpoint that checks signatures, fails and answers again. */

describeUi('webhooks in the settings', {}, (ui) => {
  let endpoint: WebhookReceiver

  beforeAll(async () => {
    endpoint = await webhookReceiver()
  })
  afterAll(async () => {
    await endpoint?.close()
  })

  const dialog = (page: Page) => page.getByRole('dialog')
  const verified = (secret: string) => {
    const { body, headers } = endpoint.received.at(-1)!
    return new Webhook(secret).verify(body, headers as Record<string, string>) as { type: string }
  }

  async function secretOf(page: Page, name: string): Promise<string> {
    await page.getByRole('dialog', { name }).waitFor()
    const secret = await page.locator('.settings-secret').innerText()
    await page.getByRole('button', { name: 'I have stored it' }).click()
    expect(await page.content()).not.toContain(secret)
    return secret
  }

  test('a webhook is created, tested, fails, is replayed, gets a new secret, is switched off and on, and deleted', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/webhooks')
    await page.getByRole('button', { name: 'New webhook…' }).click()
    await dialog(page).getByLabel('Address').fill('ftp://nowhere')
    await dialog(page).getByLabel('Events').fill('everything')
    await dialog(page).getByRole('button', { name: 'Create' }).click()
    await dialog(page).getByText('must be the name of an event').waitFor()
    expect(await dialog(page).locator('[aria-invalid]').count()).toBe(2)
    expect(await opened.violations()).toEqual([])
    await dialog(page).getByLabel('Address').fill(endpoint.url)
    await dialog(page).getByLabel('Events').fill('chain.*')
    await dialog(page).getByLabel('Description').fill('tells the chat')
    await dialog(page).getByRole('button', { name: 'Create' }).click()
    const secret = await secretOf(page, 'The secret of the webhook')

    await page.getByRole('link', { name: endpoint.url }).click()
    await page.getByRole('heading', { name: endpoint.url }).waitFor()
    await page.getByRole('heading', { name: 'Nothing was sent yet' }).waitFor()
    await page.getByRole('button', { name: 'Send a test' }).click()
    const tested = rowOf(page, 'webhook.test')
    await tested.getByText('delivered').waitFor()
    expect(verified(secret).type).toBe('webhook.test')
    await tested.locator('summary').click()
    await tested.getByText('thanks').waitFor()
    await tested.locator('pre', { hasText: '"webhook.test"' }).waitFor()

    endpoint.answerWith(410)
    const failing = await ui.create('fails', 'exit 3')
    await ui.reached(failing, ['FAILED'])
    const failed = rowOf(page, 'chain.failed')
    await failed.getByText(/1: status 410/).waitFor()
    await failed.getByText('failed', { exact: true }).waitFor()
    // An endpoint that is gone is not asked again.
    await page.locator('.settings-webhook').getByText(/off/).first().waitFor()
    expect(await page.getByRole('button', { name: 'Send a test' }).getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('button', { name: /^Failed/ }).click()
    await tested.waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?status=failed')
    expect(await opened.violations()).toEqual([])

    endpoint.answerWith(200)
    await page.getByRole('button', { name: 'Switch on' }).click()
    await page.getByText('The webhook is on.').waitFor()
    await page.getByRole('button', { name: 'Send again: chain.failed' }).click()
    await failed.waitFor({ state: 'detached' })
    await eventually(() => endpoint.bodies().filter(({ type }) => type === 'chain.failed').length === 2)

    await page.getByRole('button', { name: 'New secret…' }).click()
    await dialog(page).getByRole('button', { name: 'Make a new secret' }).click()
    const second = await secretOf(page, 'The new secret of the webhook')
    await page.getByRole('button', { name: 'Send a test' }).click()
    await eventually(() => endpoint.bodies().filter(({ type }) => type === 'webhook.test').length === 2)
    expect([verified(secret).type, verified(second).type]).toEqual(['webhook.test', 'webhook.test'])

    await page.getByRole('button', { name: 'Switch off…' }).click()
    await page.getByRole('dialog', { name: 'Switch off 1 webhook?' }).waitFor()
    await dialog(page).getByRole('button', { name: 'Switch off' }).click()
    await page.getByText('The webhook is off.').waitFor()
    const missed = await ui.create('missed', 'exit 4')
    await ui.reached(missed, ['FAILED'])
    await page.getByRole('button', { name: 'Switch on' }).click()
    await page.getByRole('button', { name: 'Replay…' }).click()
    await dialog(page).getByRole('button', { name: 'Replay' }).click()
    await dialog(page).getByText('From when on?').waitFor()
    const anHourAgo = new Date(Date.now() - 3_600_000).toISOString().slice(0, 16)
    await dialog(page).getByLabel('From when on').fill(anHourAgo)
    await dialog(page).getByRole('button', { name: 'Replay' }).click()
    await page.getByText(/^1.delivery sent again|deliveries sent again/).waitFor()
    await eventually(() => endpoint.bodies().some(({ data }) => JSON.stringify(data).includes(missed)))

    await page.getByRole('button', { name: 'Change…' }).click()
    await dialog(page).getByLabel('Only with labels').fill('team=cms')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.locator('.settings-webhook').getByText('team=cms').waitFor()

    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog', { name: 'Delete 1 webhook?' }).getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'No webhooks' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'There is no such webhook' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a viewer sees the deliveries, and why it cannot change anything', async () => {
    const viewer = await ui.tokenOf('VIEWER')
    const { createWebhook } = await ui.query(
      `mutation ($url: String!, $project: String!) { createWebhook(input: { url: $url, project: $project, eventTypes: ["chain.*"] }) {
        ... on CreateWebhookPayload { webhook { webhookId } } ... on Error { message } } }`,
      { url: endpoint.url, project: ui.project },
    )
    const { webhookId } = createWebhook.webhook
    await ui.query(`mutation ($webhookId: UUID!) { sendTestEvent(input: { webhookId: $webhookId }) { __typename } }`, {
      webhookId,
    })
    for (const [colorScheme, width] of [
      ['light', 1440],
      ['dark', 1440],
      ['light', 900],
      ['light', 360],
      ['dark', 360],
    ] as const) {
      await using opened = await ui.open({ token: viewer, colorScheme, width })
      const { page } = opened
      await page.goto(`/settings/webhooks/${webhookId}`)
      await rowOf(page, 'webhook.test').getByText('delivered').waitFor()
      const why = 'Your token has the role VIEWER, which may not change anything.'
      for (const name of ['Send a test', 'Delete…', 'Send again: webhook.test'])
        expect(await page.getByRole('button', { name }).getAttribute('title')).toBe(why)
      await expectFit(opened, width)
      expect(opened.faults).toEqual([])
    }
  })
})
