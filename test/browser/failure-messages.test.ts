import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { describeUi, rowOf, testAppearance } from '../support/ui-suite.ts'

/** Failures by what they say: programs of a real agent that print why they fail. */

const NOBODY = '00000000-0000-7000-8000-000000000000'
const SHARD = 'ERROR: shard 7 of /data/a is broken'
const DISK = 'ERROR: no space left on device'
const LONG = `ERROR: ${'the_file_of_somebody_who_names_things '.repeat(6)}is missing`
const GROUP_OF = 'query ($id: UUID!) { chain(id: $id) { firstAttempt { failureGroup { failureGroupId } } } }'

const MERGE = `mutation ($id: UUID!, $into: UUID!) {
  mergeFailureGroups(input: { failureGroupIds: [$id], into: $into }) { __typename } }`

const LATER_MASKS = `INSERT INTO failure_fingerprints SELECT project_id, 'x', id, 2 FROM failure_groups WHERE id = $1`
const saying = (line: string) => `echo "${line}" >&2; exit 3`
const messages = (page: Page) => page.getByRole('table', { name: 'Failures by message' })
const message = (page: Page, title: string) => messages(page).getByRole('row').filter({ hasText: title })
/** The number of attempts on the page of a group. */
const attempts = (page: Page) => page.locator('.failure-figures dd').first().innerText()
const mark = (page: Page, word: string) => page.locator('.page-head').getByText(word, { exact: true })

describeUi('failures by message', {}, (ui) => {
  let shard: string
  let disk: string
  let image: string
  let compared: string

  async function fail(name: string, script: string, input: object = {}): Promise<string> {
    const chainId = await ui.create(name, script, { maxRetries: 0 }, input)
    await ui.reached(chainId, ['FAILED'])
    return chainId
  }
  const groupOf = (chainId: string): Promise<string> =>
    eventually(async () => {
      const { chain } = await ui.query(GROUP_OF, { id: chainId })
      return chain.firstAttempt.failureGroup?.failureGroupId
    })
  const cells = async (page: Page, title: string) =>
    (await message(page, title).getByRole('cell').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim())

  test('are listed with what they come to, in a chosen order', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/failures')
    await page.getByText('No open or known message in the last 24 hours.').waitFor()
    expect(await opened.violations()).toEqual([])

    // A group has the title of its first failure.
    shard = await groupOf(await fail('fit', saying(SHARD)))
    const [full, other] = await Promise.all([
      fail('copy', saying(DISK)),
      fail('image', 'true', { image: 'no-such-other' }),
      fail('fit', saying('ERROR: shard 12 of /data/b is broken')),
      fail('image', 'true', { image: 'no-such-image' }),
      fail('image', 'true', { image: 'no-such-image' }),
      fail('names', saying(LONG)),
      ui
        .create('saved', `[ $REPRISE_ATTEMPT -ge 2 ] || { ${saying(SHARD)}; }`, { maxRetries: 1, retryDelay: 0.1 })
        .then((id) => ui.reached(id, ['SUCCEEDED'])),
    ])
    ;[disk, image] = [await groupOf(full), await groupOf(other)]
    await page.goto('/failures')
    await message(page, SHARD).waitFor()
    const [what, ...numbers] = await cells(page, SHARD)
    expect(what).toBe(`! ${SHARD} new`)
    expect(numbers.slice(0, 3)).toEqual(['3', '3', '33 %'])
    expect((await cells(page, DISK)).slice(1, 4)).toEqual(['1', '1', '0 %'])
    expect(await messages(page).getByText('only image no-such-image', { exact: true }).count()).toBe(1)
    expect(
      await messages(page)
        .getByText(/^only image/)
        .count(),
    ).toBe(1)
    expect(await messages(page).locator('.table-link').first().innerText()).toBe(SHARD)
    expect(await opened.violations()).toEqual([])

    await fail('copy', saying(DISK))
    await page.getByLabel('Order of messages').selectOption('latest')
    await expect.poll(() => messages(page).locator('.table-link').first().innerText(), { timeout: 60_000 }).toBe(DISK)
    expect(new URL(page.url()).search).toBe('?order=latest')
    await page
      .getByRole('list', { name: 'Causes' })
      .getByRole('link', { name: /image not pulled/ })
      .click()
    await message(page, SHARD).waitFor({ state: 'detached' })
    await message(page, 'no-such-other').waitFor()
    expect(await messages(page).getByRole('row').count()).toBe(3)
    await page.goto('/failures')
    await message(page, SHARD).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: SHARD, level: 1 }).waitFor()
    expect(new URL(page.url()).search).toBe('?range=24h')
    expect(opened.faults).toEqual([])
  })

  test('a group shows its lines before and after masking, and is renamed', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/failures/${shard}`)
    await mark(page, 'new').waitFor()
    expect(await page.title()).toBe(`new · ${SHARD} · Reprise`)
    const lines = page.locator('.failure-lines li')
    expect(await lines.allInnerTexts()).toEqual([SHARD, 'ERROR: shard <n> of <path> is broken'])
    expect(await attempts(page)).toBe('3')
    expect(await page.getByRole('table', { name: 'Newest attempts' }).getByRole('row').count()).toBe(4)
    expect(await opened.violations()).toEqual([])

    await page.getByRole('button', { name: 'Rename…' }).click()
    await page.getByLabel('Name', { exact: true }).fill('broken shards')
    expect(await opened.violations()).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'broken shards', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Rename…' }).click()
    await page.getByLabel('Name', { exact: true }).fill('')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: SHARD, level: 1 }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a group that is resolved leaves the list, and comes back with the next failure', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/failures/${shard}`)
    await page.getByRole('button', { name: 'State…' }).click()
    const dialog = page.getByRole('dialog', { name: 'State' })
    await dialog.getByLabel('State').selectOption('KNOWN')
    await dialog.getByLabel('Note').fill('the loader of shards')
    await dialog.getByLabel('Link').fill('shards')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await dialog.getByLabel('Link').getAttribute('aria-invalid')).toBe('true')
    expect(await opened.violations()).toEqual([])
    await dialog.getByLabel('Link').fill('https://example.org/49')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await mark(page, 'known').waitFor()
    await page.getByText('the loader of shards · https://example.org/49').waitFor()
    expect(await page.getByRole('link', { name: 'https://example.org/49' }).getAttribute('rel')).toBe('noreferrer')

    await page.getByRole('button', { name: 'State…' }).click()
    await dialog.getByLabel('State').selectOption('MUTED')
    await dialog.getByLabel('Muted until').fill('2999-01-31T12:00')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await mark(page, 'muted').waitFor()
    await page.getByText('2999-01-31').waitFor()
    await page.getByRole('button', { name: 'State…' }).click()
    expect(await dialog.getByLabel('Muted until').inputValue()).toBe('2999-01-31T12:00')
    await dialog.getByLabel('State').selectOption('RESOLVED')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await mark(page, 'resolved').waitFor()

    await using list = await ui.open()
    await list.page.goto('/failures')
    await message(list.page, DISK).waitFor()
    expect(await message(list.page, SHARD).count()).toBe(0)
    await list.page.getByLabel('States of messages').selectOption('all states')
    await message(list.page, SHARD).getByText('resolved', { exact: true }).waitFor()
    expect(await list.violations()).toEqual([])

    await fail('fit', saying('ERROR: shard 31 of /data/c is broken'))
    await mark(page, 'regressed').waitFor()
    await message(list.page, SHARD).getByText('regressed', { exact: true }).waitFor()
    expect(opened.faults).toEqual([])
    expect(list.faults).toEqual([])
  })

  test('groups are merged and split', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/failures/${disk}`)
    await page.getByRole('button', { name: 'Merge…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Merge into another group' })
    await dialog.getByLabel('Into').selectOption({ label: `${SHARD} (4\u00a0attempts)` })
    expect(await opened.violations()).toEqual([])
    await dialog.getByRole('button', { name: 'Merge' }).click()
    await page.getByRole('heading', { name: SHARD, level: 1 }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/failures/${shard}`)
    const merged = page.getByRole('table', { name: 'Merged into it' })
    await merged.getByText(DISK).waitFor()
    expect(await attempts(page)).toBe('6')
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: `Split ${DISK}` }).click()
    await merged.waitFor({ state: 'detached' })
    await page.getByText(`${DISK} is apart again.`).waitFor()
    await ui.query(MERGE, { id: image, into: shard })
    await merged.getByText('no-such-other').waitFor()
    expect(await attempts(page)).toBe('5')
    expect(opened.faults).toEqual([])
  })

  test('attempts lead to their group, and a group to its attempts', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/failures/${disk}`)
    await page.getByRole('table', { name: 'Newest attempts' }).getByRole('link', { name: 'copy' }).first().click()
    await page.waitForURL(/\/chains\/.*attempt=1/)
    await page.getByText('1\u00a0other in 30 days says the same').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('link', { name: DISK }).click()
    await page.getByRole('heading', { name: DISK, level: 1 }).waitFor()

    await page.getByRole('link', { name: 'All attempts' }).click()
    await page.getByRole('button', { name: `Remove the failure ${DISK}` }).waitFor()
    expect(new URL(page.url()).search).toBe(`?failure=${disk}`)
    const sessions = page.getByRole('table', { name: 'Sessions' })
    await sessions.getByRole('row').nth(2).waitFor()
    expect(await sessions.getByRole('row').count()).toBe(3)
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: `Remove the failure ${DISK}` }).click()
    await rowOf(page, 'saved').first().waitFor()
    await rowOf(page, 'fit').getByRole('link', { name: SHARD }).first().click()
    await page.getByRole('heading', { name: SHARD, level: 1 }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a failed attempt is compared with the last success, and with the attempt before', async () => {
    const script = 'echo "step 1 of 9"; [ "$LR" = 1 ] || { echo "loss is nan"; echo gone; exit 3; }; echo done'
    const lr = (value: string) => ({ environ: [{ name: 'LR', value }], secretEnviron: [{ name: 'KEY', value }] })
    const good = await ui.create('compared', script, { maxRetries: 0 }, lr('1'))
    await ui.reached(good, ['SUCCEEDED'])
    const bad = await ui.create('compared', script, { maxRetries: 1, retryDelay: 0.1 }, lr('9'))
    await ui.reached(bad, ['FAILED'])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${bad}?attempt=2`)
    const last = page.getByRole('link', { name: 'the last success' })
    await page.getByRole('link', { name: 'the previous attempt' }).waitFor()
    await last.click()
    await page.getByRole('heading', { name: 'Compare compared', level: 1 }).waitFor()
    expect(new URL(page.url()).pathname).toMatch(new RegExp(`^/compare/[-0-9a-f]{36}/${good}$`))
    const row = async (table: string, name: string) =>
      (
        await page
          .getByRole('table', { name: table })
          .getByRole('row')
          .filter({ has: page.getByText(name, { exact: true }) })
          .getByRole('cell')
          .allInnerTexts()
      ).map((text) => text.trim())
    expect(await row('What differs', 'environ.LR')).toEqual(['environ.LR', '9', '1'])
    expect(await row('What differs', 'secretEnviron.KEY')).toEqual(['secretEnviron.KEY', '[redacted]', '[redacted]'])
    expect((await row('How they ran', 'outcome'))[2]).toBe('succeeded')
    expect((await row('How they ran', 'outcome'))[1]).toMatch(/exit code 3$/)
    expect(await page.locator('.compare-logs h3').allInnerTexts()).toEqual(['Left, line 2', 'Right, line 2'])
    expect(await page.locator('.compare-line').allInnerTexts()).toEqual(['loss is nan', 'done'])
    const lines = await page.locator('.compare-logs li').allInnerTexts()
    expect(lines).toEqual(['step 1 of 9', 'loss is nan', 'gone', 'step 1 of 9', 'done'])
    compared = new URL(page.url()).pathname
    expect(await opened.violations()).toEqual([])

    await page.goBack()
    await page.getByRole('link', { name: 'the previous attempt' }).click()
    await page.getByText('They say the same, apart from numbers, times, paths and ids.').waitFor()
    await page.getByText('Nothing: their specifications, environments, code and images are the same.').waitFor()
    await page.goto(`/compare/${good}/${NOBODY}`)
    await page.getByText(`no session ${NOBODY}`).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('groups that look alike are merged by one click, and a merged group leads to the one that shows it', async () => {
    const similar = ['write', 'read'].map((what) => `ERROR: cannot ${what} the index of the table`)
    const [one, two] = [
      await groupOf(await fail('first', saying(similar[0]!))),
      await groupOf(await fail('second', saying(similar[1]!))),
    ]
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/failures/${one}`)
    const like = page.getByRole('table', { name: 'Looks like this' })
    await like.getByText('88\u00a0% the same').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: `Merge ${similar[1]} into this group` }).click()
    await like.waitFor({ state: 'detached' })
    await page.getByRole('table', { name: 'Merged into it' }).getByText(similar[1]!).waitFor()

    await page.goto(`/failures/${two}`)
    const into = page.getByRole('status').filter({ hasText: 'into which it was merged' })
    await into.waitFor()
    expect(await opened.violations()).toEqual([])
    await into.getByRole('link', { name: similar[0]! }).click()
    await page.getByRole('heading', { name: similar[0]!, level: 1 }).waitFor()
    await page.goBack()
    await into.getByRole('button', { name: 'Split' }).click()
    await into.waitFor({ state: 'detached' })
    await like.getByText(similar[0]!).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('an attempt that fails while its page is open shows what it says', async () => {
    const chainId = await ui.create(
      'late',
      `while [ ! -e "$REPRISE_CHAIN_DIR/go" ]; do sleep 0.05; done; ${saying(DISK)}`,
      {
        maxRetries: 0,
      },
    )
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${chainId}`)
    await page.getByRole('option', { name: /^attempt 1, epoch 0, running/ }).waitFor()
    await writeFile(join(ui.chainDirectory(chainId), 'go'), '')
    await page.getByText('2\u00a0others in 30 days say the same').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('the failed chains of a group are resubmitted', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/failures/${disk}`)
    await page.getByRole('button', { name: 'Resubmit all…' }).click()
    await page.getByRole('dialog', { name: /Resubmit: 3.chains\?/ }).waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Resubmit' }).click()
    await page.getByRole('dialog', { name: /3.chains resubmitted/ }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await expect.poll(() => attempts(page), { timeout: 60_000 }).toBe('6')
    expect(opened.faults).toEqual([])
  })

  test('a rule for such failures shows what it would have done, and joins the defaults', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/failures/${shard}`)
    await page.getByRole('button', { name: 'Rule…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Rule for such failures' })
    await dialog.getByRole('button', { name: 'Replay the last 30 days' }).click()
    // The only success with this exit code came after a retry.
    await dialog.getByText('1 success of saved lost').waitFor()
    expect(await opened.violations()).toEqual([])
    await dialog.getByLabel('Then').selectOption('RETRY')
    await dialog.getByLabel('Delay').fill('soon')
    await dialog.getByText('It is not a duration').waitFor()
    expect(await dialog.getByRole('button', { name: 'Add to the defaults' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Delay').fill('20m')
    await dialog.getByRole('button', { name: 'Add to the defaults' }).click()
    await dialog.waitFor({ state: 'detached' })
    const { retryDefaults } = await ui.query(
      '{ retryDefaults { scope policy { rules { action delay match { exitCodes } } } } }',
    )
    const own = retryDefaults.find(({ scope }: { scope: string }) => scope === 'PROJECT')
    expect(own.policy.rules).toEqual([{ action: 'RETRY', delay: 1200, match: { exitCodes: [3] } }])
    expect(opened.faults).toEqual([])
  })

  test('a viewer is told that it may not change a group; one of another project does not exist', async () => {
    {
      await using opened = await ui.open({ token: await ui.tokenOf('VIEWER') })
      const { page } = opened
      await page.goto(`/failures/${shard}`)
      const change = page.getByRole('button', { name: 'State…' })
      await change.waitFor()
      expect(await change.getAttribute('aria-disabled')).toBe('true')
      expect(await change.getAttribute('title')).toBe('Your token has the role VIEWER, which may not change anything.')
      expect(await opened.violations()).toEqual([])
      expect(opened.faults).toEqual([])
    }
    await using opened = await ui.open({ token: await ui.cluster.tokenOf('ADMIN', 'default') })
    for (const id of [shard, NOBODY]) {
      await opened.page.goto(`/failures/${id}`)
      await opened.page.getByRole('heading', { name: 'There is no such group of failures' }).waitFor()
    }
    expect(opened.faults).toEqual([])
  })

  test('a rule of the project, typed in the settings, groups failures from then on, and their page names it', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/projects')
    await page.getByRole('button', { name: /^Rules for failures of project-/ }).click()
    const field = page.getByLabel('Rules', { exact: true })
    const send = () => page.getByRole('dialog').getByRole('button', { name: 'Set' }).click()
    await field.fill('full disks = *left on device*\n\nno pattern')
    await send()
    await page.getByText('“no pattern”: pattern: ').waitFor()
    await field.fill('full disks = *left on device*\nfull disks = *quota exceeded*')
    await send()
    await page.getByText(/^2\srules for failures of project-/).waitFor()
    await page.getByText(/^Rules for failures… 2$/).click()
    expect(await field.inputValue()).toBe('full disks = *left on device*\nfull disks = *quota exceeded*')
    const ruled = await groupOf(await fail('copy', saying(DISK)))
    await page.goto(`/failures/${ruled}`)
    await page.getByText('They are one group by the project’s rule *left on device*.').waitFor()
    await ui.database.db.query(LATER_MASKS, [ruled])
    await page.getByText(/^An upgrade changed the masks .* version 2, and the lines here are by version 1/).waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  testAppearance(ui, [
    ['/failures?show=all', (page) => message(page, LONG).waitFor()],
    [() => `/failures/${shard}`, (page) => page.getByRole('table', { name: 'Merged into it' }).waitFor()],
    [() => compared, (page) => page.locator('.compare-line').first().waitFor()],
    [() => `/sessions?failure=${shard}`, (page) => rowOf(page, 'fit').first().waitFor()],
  ])
})
