import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { OrdinaryUser } from './ordinary-user.ts'

const CONFIG = 'test/support/containers/ordinary-user.config.ts'
const VITEST = 'node_modules/vitest/vitest.mjs'

interface Report {
  numFailedTests: number
  testResults: { assertionResults: { status: string; fullName: string; failureMessages: string[] }[] }[]
}

/**
 * Has an ordinary user run files of tests, none of which may fail.
 *
 * @param names a pattern: only those with such a name
 * @returns names of those that passed, which leaves out what was skipped
 */
export async function passedAs(user: OrdinaryUser, files: string | string[], names = ''): Promise<string[]> {
  const report = join(user.home, 'report.json')
  const where = ['--configLoader', 'native', '--root', user.inCheckout('.'), '--config', user.inCheckout(CONFIG)]
  const how = ['--reporter', 'json', '--outputFile', report, '--testNamePattern', names]
  const { stdout, stderr } = await user.run([
    user.node,
    user.inCheckout(VITEST),
    'run',
    ...where,
    ...how,
    ...[files].flat(),
  ])
  const text = await readFile(report, 'utf8').catch(() => {
    throw new Error(`no report: ${stdout}\n${stderr}`)
  })
  const results = (JSON.parse(text) as Report).testResults.flatMap(({ assertionResults }) => assertionResults)
  expect(results.flatMap(({ failureMessages }) => failureMessages)).toEqual([])
  return results.filter(({ status }) => status === 'passed').map(({ fullName }) => fullName)
}
