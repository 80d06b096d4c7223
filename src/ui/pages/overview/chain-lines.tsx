import { Link } from '@tanstack/react-router'
import type { UiChainRowFragment } from '../../app/chain/chain-row.generated.ts'
import { Latest, Outlook, StateIcon } from '../../app/chain/chain-parts.tsx'
import { marksOf } from '../../app/chain/outlook.ts'
import { AttemptStrip, STRIP_ATTEMPTS_MAX } from '../../charts/attempt-strip.tsx'

/** Chains as short lines. */
export function ChainLines({ chains }: { chains: readonly { node: UiChainRowFragment }[] }) {
  return (
    <ol className="lines">
      {chains.map(({ node: chain }) => (
        <li key={chain.id}>
          <Link to="/chains/$chainId" params={{ chainId: chain.chainId }} className="line chain-line">
            <StateIcon chain={chain} />
            <span className="line-name" title={chain.name}>
              {chain.name}
            </span>
            <span className="line-strip">
              {chain.attempts > 1 && (
                <AttemptStrip marks={marksOf(chain)} hasMore={chain.attempts > STRIP_ATTEMPTS_MAX} />
              )}
            </span>
            <span className="line-outlook">
              <Outlook chain={chain} />
            </span>
            <span className="line-latest">
              <Latest at={chain.newestActivityAt} />
            </span>
          </Link>
        </li>
      ))}
    </ol>
  )
}
