import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { chainDirectory } from './chain-directory.ts'
import { chainSize } from './chain-size.ts'
import type { ChainHost } from './chain-host.ts'

const VARIABLES = { bytes: 'REPRISE_CHAIN_BYTES_MAX', files: 'REPRISE_CHAIN_FILES_MAX' } as const

/** The failure of those who use a directory beyond a bound; null if it keeps to them, or cannot be measured. */
export async function overfull(
  host: ChainHost,
  spec: Pick<KernelSpec, 'chainId' | 'checkpoint'>,
): Promise<FailureError | null> {
  const { chainId } = spec
  const { chainBytes, chainFiles } = host.limits
  for (const [unit, most] of [['bytes', chainBytes] as const, ['files', chainFiles] as const]) {
    if (most === null) continue
    const size = await chainSize(chainDirectory(host, spec), unit)
    if (size === null) host.log.warn({ chainId, unit }, 'the directory of a chain could not be measured')
    if (size === null || size <= most) continue
    const message = `the chain's directory holds ${size} ${unit}, more than the ${most} that its agent allows (${VARIABLES[unit]})`
    return { name: 'chain-directory-full', message }
  }
  return null
}
