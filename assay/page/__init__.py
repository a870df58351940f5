"""Components of HTML pages: one style sheet, tables and charts.

style.css   colours, type, tables, charts, forms; light and dark, from 390 pixels on. The reports carry it inside, the
            workbench links to it.
svg         SVG elements and axes
charts      forests of differences, curves, heat maps, in two widths
tables      tables that scroll sideways
document    the page around them
"""
