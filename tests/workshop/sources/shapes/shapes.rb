# frozen_string_literal: true

require 'set'

module House
  LIMIT = 3

  class Shape
    include Comparable
    attr_reader :first

    def initialize(first, *rest, key: 1, &block)
      @first = first
    end

    def self.of(first) = new(first)

    class << self
      def empty
        new(nil)
      end
    end

    def login?(user)
      !user.nil?
    end

    def save!
      @first = 1
    end

    def save
      save!
    rescue StandardError => e
      e
    ensure
      1
    end

    def name=(value)
      @name = value
    end

    def [](at)
      at
    end

    def []=(at, value)
      value
    end

    def <=>(other)
      0
    end

    def ==(other) = true

    def +(other)
      self
    end

    def -@
      self
    end

    def text
      <<~TEXT
        as it
          is
      TEXT
    end

    class Corner < Struct.new(:x, :y)
      def initialize(x, y)
        super
      end
    end

    private

    def hidden; 1; end

    protected def shown
      2
    end
  end

  module_function

  def area(side)
    side * side
  end
end

class House::Room
  def initialize
    @doors = 1
  end
end

def area(side)
  side
end
