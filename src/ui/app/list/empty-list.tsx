import { Button } from '../../design/button.tsx'
import '../../design/panel.css'

/** Where a filter leaves nothing: what of it can be taken away. */
export function EmptyUnderFilters(props: {
  /** `No agent fits` */
  title: string
  filters: Readonly<Record<string, string | undefined>>
  onRemove: (name: string) => void
}) {
  const { title, filters, onRemove } = props
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>Take away what leaves out too much:</p>
      <div className="empty-filters">
        {Object.entries(filters)
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <Button key={name} className="chip" onClick={() => onRemove(name)}>
              <span>
                {name} {value}
              </span>
            </Button>
          ))}
      </div>
    </div>
  )
}
