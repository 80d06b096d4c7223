import { count } from '../words/count.ts'
import type { UiRefusalGroupFragment } from './bulk.generated.ts'
import { reasonInWords } from './bulk-words.ts'
import './bulk.css'

/** Why not, each reason once, with what the server said to the first. */
export function Refusals({ title, groups }: { title: string; groups: readonly UiRefusalGroupFragment[] }) {
  if (groups.length === 0) return null
  return (
    <section className="refusals" aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {groups.map(({ code, count: many, message }) => (
          <li key={code}>
            <span className="refusals-count">{count(many)}</span>
            <span>
              {reasonInWords(code)}
              <span className="refusals-example">
                {many > 1 && 'the first: '}
                {message}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
