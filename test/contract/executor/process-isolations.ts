import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { skipReason } from '../../support/distribution.ts'
import { type Arrangement, ARRANGEMENTS, isolationOf } from './isolation-of.ts'

/** Why it does not work here; null if it does. */
async function faultOf(arrangement: Arrangement): Promise<string | null> {
  const directory = mkdtempSync(join(tmpdir(), 'reprise-isolation-'))
  try {
    await isolationOf(arrangement, directory)
    return null
  } catch (error) {
    return (error as Error).message
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The arrangements to test, each with the reason why it cannot be tested here. */
export const arrangements = await Promise.all(
  ARRANGEMENTS.map(async (arrangement) => {
    const need = arrangement.includes('bubblewrap') ? 'bubblewrap' : 'isolation'
    return { arrangement, fault: skipReason(need, await faultOf(arrangement)) }
  }),
)
