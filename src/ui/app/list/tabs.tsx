import { count } from '../../words/count.ts'
import '../../design/controls.css'

interface Tab<Key extends string> {
  tab: Key | undefined
  name: string
  /** Null until it is known; missing where nothing is counted. */
  counted?: { count: number; isExact: boolean } | null | undefined
}

/** What a list is narrowed to, and how much there is of each. */
export function Tabs<Key extends string>(props: {
  label: string
  tabs: readonly Tab<Key>[]
  chosen: Key | undefined
  onChoose: (tab: Key | undefined) => void
}) {
  const { label, tabs, chosen, onChoose } = props
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ tab, name, counted }) => (
        <button
          key={name}
          type="button"
          className="tab"
          aria-current={tab === chosen ? 'page' : undefined}
          onClick={() => onChoose(tab)}
        >
          {name}
          {counted !== undefined && (
            <span className="tab-count">
              {counted ? `${count(counted.count)}${counted.isExact ? '' : '+'}` : '\u2007'}
            </span>
          )}
        </button>
      ))}
    </nav>
  )
}
