import type { FailureError } from '../../../../domain/session/failure.ts'
import { chainDirectory } from './chain-directory.ts'
import { chainBytes } from './chain-size.ts'
import type { ProcessHost } from '../process-host.ts'

/** The failure of those who use a directory beyond its bound; null if it keeps to it, or cannot be measured. */
export async function overfull(host: ProcessHost, chainId: string): Promise<FailureError | null> {
  const { chainBytes: most } = host.limits
  if (most === null) return null
  const bytes = await chainBytes(chainDirectory(host, chainId))
  if (bytes === null) host.log.warn({ chainId }, 'the directory of a chain could not be measured')
  if (bytes === null || bytes <= most) return null
  const message = `the chain's directory holds ${bytes} bytes, more than the ${most} that its agent allows (REPRISE_CHAIN_BYTES_MAX)`
  return { name: 'chain-directory-full', message }
}
